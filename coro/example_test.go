package coro_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-go/rondo/coro"
)

// parseQuoted reads a quoted string, byte by byte and with nothing but loops and
// ifs. It does not know that it pauses.
func parseQuoted(read func() byte) (text string, ok bool) {
	if read() != '"' {
		return "", false
	}
	var b strings.Builder
	for {
		switch c := read(); c {
		case '"':
			return b.String(), true
		case '\n':
			return "", false
		case '\\':
			b.WriteByte(read())
		default:
			b.WriteByte(c)
		}
	}
}

// A parser that wants to read becomes one that is written to: the code that has the
// bytes feeds them one at a time and keeps its own flow of control.
func ExampleNew() {
	type state struct {
		text string
		ok   bool
	}
	write, cancel := coro.New(func(_ byte, yield func(state) byte) state {
		text, ok := parseQuoted(func() byte { return yield(state{}) })
		return state{text, ok}
	})
	defer cancel()
	write(0) // runs to the first read

	for _, c := range []byte(`"say \"hi\"" and more`) {
		if s, more := write(c); !more {
			fmt.Printf("%q %v\n", s.text, s.ok)
			break
		}
	}
	// Output: "say \"hi\"" true
}

type tree struct {
	left  *tree
	value int
	right *tree
}

// All pushes the values in order.
func (t *tree) All(yield func(int) bool) { t.push(yield) }

func (t *tree) push(yield func(int) bool) bool {
	return t == nil || t.left.push(yield) && yield(t.value) && t.right.push(yield)
}

// Two trees of different shape are walked in step to see whether they hold the
// same values. A range loop could walk only one of them.
func ExamplePull() {
	same := func(a, b *tree) bool {
		next1, stop1 := coro.Pull(a.All)
		defer stop1()
		next2, stop2 := coro.Pull(b.All)
		defer stop2()
		for {
			v1, ok1 := next1()
			v2, ok2 := next2()
			if v1 != v2 || ok1 != ok2 {
				return false
			}
			if !ok1 {
				return true
			}
		}
	}
	leaf := func(v int) *tree { return &tree{value: v} }
	bushy := &tree{&tree{leaf(1), 2, leaf(3)}, 4, leaf(5)}
	stringy := &tree{nil, 1, &tree{nil, 2, &tree{nil, 3, &tree{nil, 4, leaf(5)}}}}
	other := &tree{nil, 1, &tree{nil, 2, &tree{nil, 3, &tree{nil, 4, leaf(6)}}}}
	fmt.Println(same(bushy, stringy), same(bushy, other), same(bushy, nil), same(nil, nil))
	// Output: true false false true
}

// A handle tells what its coroutine is doing and where it panicked.
func ExampleMake() {
	c := coro.Make(func(name string, yield func(string) string) string {
		for name != "" {
			name = yield("hello " + name)
		}
		return "goodbye"
	})
	defer c.Cancel()
	for _, name := range []string{"Ada", "Alan", "", "Grace"} {
		out, ok := c.Resume(name)
		fmt.Printf("%q %v %v\n", out, ok, c.Status())
	}
	// Output:
	// "hello Ada" true suspended
	// "hello Alan" true suspended
	// "goodbye" false dead
	// "" false dead
}

// Cancel unwinds a coroutine by a panic in its pending yield, so that what it
// has deferred runs. It comes back quietly.
func ExampleCoroutine_Cancel() {
	c := coro.Make(func(_ int, yield func(int) int) int {
		defer fmt.Println("closing the file")
		for i := 0; ; i++ {
			yield(i)
		}
	})
	c.Resume(0)
	c.Cancel()
	fmt.Println(c.Status())
	// Output:
	// closing the file
	// dead
}

// fibonacci yields the Fibonacci numbers for ever.
func fibonacci(y *coro.Yielder[int, struct{}]) (struct{}, error) {
	for a, b := 0, 1; ; a, b = b, a+b {
		if _, err := y.Yield(a); err != nil {
			return struct{}{}, err
		}
	}
}

// Leaving the loop closes the generator: its Yield returns ErrClosed.
func ExampleGenerator_All() {
	for n := range coro.NewGenerator(fibonacci).All() {
		if n > 100 {
			break
		}
		fmt.Print(n, " ")
	}
	// Output: 0 1 1 2 3 5 8 13 21 34 55 89
}

var errReset = errors.New("reset")

// average is sent numbers and yields their average so far. Thrown errReset, it
// begins anew. Its result is how many numbers it was sent.
func average(y *coro.Yielder[float64, float64]) (int, error) {
	sum, n, total := 0.0, 0.0, 0
	for {
		x, err := y.Yield(sum / max(n, 1))
		switch err {
		case nil:
			sum, n, total = sum+x, n+1, total+1
		case errReset:
			sum, n = 0, 0
		default:
			return total, err
		}
	}
}

func ExampleGenerator_Send() {
	g := coro.NewGenerator(average)
	defer g.Close()
	g.Next() // to the first Yield, which receives the first number
	for _, x := range []float64{10, 20, 60} {
		mean, _, _ := g.Send(x)
		fmt.Print(mean, " ")
	}
	mean, _, _ := g.Throw(errReset)
	fmt.Print(mean, " ")
	mean, _, _ = g.Send(7)
	fmt.Println(mean)

	fmt.Println(g.Close())
	fmt.Println(g.Result())
	// Output:
	// 10 15 30 0 7
	// <nil>
	// 4 coro: generator closed
}

// A generator leaves the work to another and gets its result. What is sent to
// the one reaches the other.
func ExampleYieldFrom() {
	// ask yields a question until it is sent an answer.
	ask := func(question string) *coro.Generator[string, string, string] {
		return coro.NewGenerator(func(y *coro.Yielder[string, string]) (string, error) {
			for {
				answer, err := y.Yield(question)
				if answer != "" || err != nil {
					return answer, err
				}
			}
		})
	}
	form := coro.NewGenerator(func(y *coro.Yielder[string, string]) (string, error) {
		name, err := coro.YieldFrom(y, ask("Name?"))
		if err != nil {
			return "", err
		}
		town, err := coro.YieldFrom(y, ask("Town?"))
		if err != nil {
			return "", err
		}
		return name + " of " + town, nil
	})
	defer form.Close()

	question, ok := form.Next()
	for _, answer := range []string{"", "Robin", "Locksley"} {
		fmt.Printf("%s %q\n", question, answer)
		question, ok, _ = form.Send(answer)
	}
	fmt.Println(ok)
	fmt.Println(form.Result())
	// Output:
	// Name? ""
	// Name? "Robin"
	// Town? "Locksley"
	// false
	// Robin of Locksley <nil>
}

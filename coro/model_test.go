package coro_test

// Every short program of Resume, Cancel and Status is run on every small
// coroutine, and beside it on a model that is nothing but a counter. What each
// call gave and what the function saw must be the same.

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

// A reaction is what a function does when its pending yield panics.
type reaction int

const (
	unwind reaction = iota // nothing: the panic passes
	recoverAndReturn
	recoverAndGoOn // to the next yield, or the end
	panicInstead
	goexitInstead
	reactions
)

// A finale is what a function does after its last yield.
type finale int

const (
	finishReturn finale = iota
	finishPanic
	finishGoexit
	finales
)

// A role is a function for a coroutine: one yield for each reaction.
type role struct {
	reactions []reaction
	finale    finale
}

// play is the function. What it sees it writes to log.
func (r role) play(log *strings.Builder) func(in int, yield func(int) int) int {
	return func(in int, yield func(int) int) int {
		defer log.WriteString("end;")
		fmt.Fprintf(log, "start %d;", in)
		for i, react := range r.reactions {
			if r.turn(log, i, react, yield) {
				return 1000 + i
			}
		}
		switch r.finale {
		case finishPanic:
			panic("finale")
		case finishGoexit:
			runtime.Goexit()
		}
		return 1000
	}
}

// turn is the i-th yield. It reports whether the function is to return.
func (r role) turn(log *strings.Builder, i int, react reaction, yield func(int) int) (leave bool) {
	answered := false
	defer func() {
		if answered {
			return
		}
		log.WriteString("cancelled;")
		switch react {
		case recoverAndReturn:
			leave = errors.Is(recover().(error), coro.ErrCanceled)
		case recoverAndGoOn:
			leave = !errors.Is(recover().(error), coro.ErrCanceled)
		case panicInstead:
			panic(fmt.Sprint("instead ", i))
		case goexitInstead:
			runtime.Goexit()
		}
	}()
	in := yield(i)
	answered = true
	fmt.Fprintf(log, "in %d;", in)
	return false
}

// A model is the state that a coroutine with a role would be in.
type model struct {
	role
	at   int // the pending yield; -1 before the start
	dead bool
	log  strings.Builder
}

func (m *model) resume(in int) string {
	switch {
	case m.dead:
		return "0 false"
	case m.at < 0:
		fmt.Fprintf(&m.log, "start %d;", in)
	default:
		fmt.Fprintf(&m.log, "in %d;", in)
	}
	m.at++
	if m.at < len(m.reactions) {
		return fmt.Sprint(m.at, " true")
	}
	return m.end("1000 false")
}

// end ends the function by its finale; how is what a return gives.
func (m *model) end(how string) string {
	m.dead = true
	m.log.WriteString("end;")
	return [...]string{finishReturn: how, finishPanic: "panic: finale", finishGoexit: "Goexit"}[m.finale]
}

func (m *model) cancel() string {
	if m.dead || m.at < 0 {
		m.dead = true
		return "cancelled"
	}
	for ; m.at < len(m.reactions); m.at++ {
		m.log.WriteString("cancelled;")
		react := m.reactions[m.at]
		if react == recoverAndGoOn {
			continue
		}
		m.dead = true
		m.log.WriteString("end;")
		switch react {
		case panicInstead:
			return fmt.Sprint("panic: instead ", m.at)
		case goexitInstead:
			return "Goexit"
		}
		return "cancelled"
	}
	return m.end("cancelled")
}

func (m *model) status() string {
	if m.dead {
		return "dead"
	}
	return "suspended"
}

// perform runs one program: 'r' for Resume, 'c' for Cancel, 's' for Status.
func perform(t *testing.T, r role, program string) {
	var log strings.Builder
	c := coro.Make(r.play(&log))
	m := &model{role: r, at: -1}
	for i, op := range program + "c" {
		var got, want string
		switch op {
		case 'r':
			got = outcome(func() string { return fmt.Sprint(c.Resume(i)) })
			want = m.resume(i)
		case 'c':
			got = outcome(func() string { c.Cancel(); return "cancelled" })
			want = m.cancel()
		case 's':
			got, want = c.Status().String(), m.status()
		}
		if got != want || log.String() != m.log.String() {
			t.Fatalf("role %v, program %q, call %d: %s, want %s; the function saw %q, want %q",
				r, program, i, got, want, log.String(), m.log.String())
		}
	}
	if c.Status() != coro.Dead {
		t.Fatalf("role %v, program %q: %v after Cancel", r, program, c.Status())
	}
}

// words calls f with each word of the letters that has the length.
func words(letters string, length int, f func(word string)) {
	word := make([]byte, length)
	var fill func(i int)
	fill = func(i int) {
		if i == length {
			f(string(word))
			return
		}
		for j := range len(letters) {
			word[i] = letters[j]
			fill(i + 1)
		}
	}
	fill(0)
}

// roles calls f with each role that has n yields.
func roles(n int, f func(role)) {
	words("01234"[:reactions], n, func(word string) {
		for last := range finales {
			r := role{finale: last}
			for _, c := range word {
				r.reactions = append(r.reactions, reaction(c-'0'))
			}
			f(r)
		}
	})
}

func TestCoroutineModel(t *testing.T) {
	clean(t)
	runs := 0
	for yields := range 3 {
		roles(yields, func(r role) {
			words("rcs", yields+3, func(program string) {
				perform(t, r, program)
				runs++
			})
		})
	}
	t.Logf("%d programs", runs)
}

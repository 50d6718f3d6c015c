package rondo_test

// These examples are the tour of the package comment, in its order, and a few
// more. The snippets of the package comment are parts of this file; a test in the
// module examples compares them.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rondo-go/rondo"
)

func ExampleRun() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		visits := 0
		visit := func(ctx context.Context) error {
			visits++ // no lock: nothing else runs between two waits
			return rondo.Sleep(ctx, time.Millisecond)
		}
		a, b := rondo.Go(ctx, visit), rondo.Go(ctx, visit)
		err := errors.Join(a.Wait(ctx), b.Wait(ctx))
		fmt.Println(visits, "visits")
		return err
	})
	fmt.Println(err)
	// Output:
	// 2 visits
	// <nil>
}

// The first task to fail cancels the others, and Group waits for all of them.
func ExampleGroup() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				return rondo.Sleep(ctx, time.Hour)
			})
			g.Go(func(ctx context.Context) error {
				return errors.New("no such host")
			})
			return nil
		})
		fmt.Println(err) // no such host
		return nil
	})
	// Output: no such host
}

// A message that makes its handler, or a task that the handler has started, fail or panic does
// no harm to the next one.
func ExampleContain() {
	handle := func(ctx context.Context, message string) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			if message == "bad" {
				return errors.New("cannot be stored")
			}
			return nil
		})
		return rondo.Sleep(ctx, time.Millisecond)
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		for _, message := range []string{"first", "bad", "last"} {
			err := rondo.Contain(ctx, func(ctx context.Context) error { return handle(ctx, message) })
			fmt.Println(message, err)
		}
		return nil
	})
	// Output:
	// first <nil>
	// bad cannot be stored
	// last <nil>
}

func ExampleTimeout() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
			return rondo.Sleep(ctx, time.Hour)
		})
		fmt.Println(err) // context deadline exceeded
		return nil
	})
	// Output: context deadline exceeded
}

// A cancelled task can still wait, in a Shield.
func ExampleShield() {
	sayGoodbye := func(ctx context.Context) error {
		err := rondo.Sleep(ctx, time.Millisecond)
		fmt.Println("said goodbye:", err)
		return err
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		t := rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.Sleep(ctx, time.Hour)
			return errors.Join(err, rondo.Shield(ctx, sayGoodbye))
		})
		if err := rondo.Yield(ctx); err != nil { // let it begin
			return err
		}
		t.Cancel(errors.New("the peer has gone"))
		fmt.Println("task:", t.Wait(ctx))
		return nil
	})
	// Output:
	// said goodbye: <nil>
	// task: the peer has gone
}

func ExampleAsync() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		length := rondo.Async(ctx, func(ctx context.Context) (int, error) {
			return len("rondo"), rondo.Sleep(ctx, time.Millisecond)
		})
		n, err := length.Wait(ctx)
		fmt.Println(n, err)
		return nil
	})
	// Output: 5 <nil>
}

func ExampleOffload() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		text, err := rondo.Offload(ctx, func(ctx context.Context) ([]byte, error) {
			return os.ReadFile("go.mod")
		})
		module, _, _ := bytes.Cut(text, []byte("\n"))
		fmt.Println(string(module), err)
		return nil
	})
	// Output: module github.com/rondo-go/rondo <nil>
}

func ExampleLoop_Post() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		loop, answer := rondo.LoopOf(ctx), rondo.NewFuture[int](ctx)
		total := 0
		go func() {
			err := loop.Post(func() {
				total += 42 // on the loop, so this is as safe as in a task
				answer.Set(total)
			})
			if err != nil {
				answer.Fail(err) // the loop has ended
			}
		}()
		n, err := answer.Wait(ctx)
		fmt.Println(n, err)
		return nil
	})
	// Output: 42 <nil>
}

func ExampleRunner() {
	r := rondo.Runner{Recover: true}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Go(ctx, func(ctx context.Context) error { panic("lost") }).Wait(ctx)
	})
	p, ok := errors.AsType[*rondo.PanicError](err)
	fmt.Println(ok, p.Value)
	// Output: true lost
}

// An error that no caller waits for goes to OnError.
func ExampleRunner_onError() {
	r := rondo.Runner{OnError: func(task rondo.TaskInfo, err error) {
		fmt.Println(task.Name, "failed:", err)
	}}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			rondo.Current(ctx).SetName("mailer")
			return errors.New("no route")
		})
		return rondo.Yield(ctx)
	})
	fmt.Println(err)
	// Output:
	// mailer failed: no route
	// <nil>
}

// Gather returns its results in the order of the arguments, however long each takes.
func ExampleGather() {
	after := func(d time.Duration, word string) func(ctx context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return word, rondo.Sleep(ctx, d) }
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		words, err := rondo.Gather(ctx,
			after(2*time.Millisecond, "theme"), after(time.Millisecond, "episode"), after(0, "theme"))
		fmt.Println(words, err)
		return nil
	})
	// Output: [theme episode theme] <nil>
}

// A Queue with room for one value keeps the producer at most one step ahead.
func ExampleQueue() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		q := rondo.NewQueue[int](1)
		rondo.Go(ctx, func(ctx context.Context) error {
			defer q.Close()
			for i := range 3 {
				if err := q.Put(ctx, i); err != nil {
					return err
				}
				fmt.Println("put", i)
			}
			return nil
		})
		for i := range q.All(ctx) {
			fmt.Println("got", i)
		}
		return nil
	})
	// Output:
	// put 0
	// got 0
	// put 1
	// got 1
	// put 2
	// got 2
}

// A Mutex is for code that waits between reading and writing what it guards.
func ExampleMutex() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var mu rondo.Mutex
		balance := 100
		withdraw := func(ctx context.Context) error {
			if err := mu.Lock(ctx); err != nil {
				return err
			}
			defer mu.Unlock()
			left := balance - 60
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil { // ask the bank
				return err
			}
			if left >= 0 {
				balance = left
			}
			return nil
		}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(withdraw)
			g.Go(withdraw)
			return nil
		})
		fmt.Println(balance, err)
		return nil
	})
	// Output: 40 <nil>
}

func ExampleEvent() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var open rondo.Event
		t := rondo.Go(ctx, func(ctx context.Context) error {
			if err := open.Wait(ctx); err != nil {
				return err
			}
			fmt.Println("in")
			return nil
		})
		fmt.Println("opening")
		open.Set()
		return t.Wait(ctx)
	})
	// Output:
	// opening
	// in
}

// A latch made of a WaitList and a rule for waking.
func ExampleWaitList() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var waiting rondo.WaitList
		left := 2
		countDown := func() {
			if left--; left == 0 {
				waiting.WakeAll()
			}
		}
		for range 2 {
			rondo.LoopOf(ctx).CallSoon(countDown)
		}
		err := waiting.Park(ctx, rondo.Reason{What: "latch"})
		fmt.Println(left, err)
		return nil
	})
	// Output: 0 <nil>
}

// Start returns when the server has called started.
func ExampleScope_Start() {
	serve := func(ctx context.Context, started func()) error {
		fmt.Println("listening")
		started()
		return rondo.Sleep(ctx, time.Hour)
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := g.Start(ctx, serve); err != nil {
				return err
			}
			fmt.Println("ready")
			g.Cancel(nil)
			return nil
		})
		fmt.Println(err)
		return nil
	})
	// Output:
	// listening
	// ready
	// <nil>
}

// Any goroutine may start a task, and wait for its result.
func ExampleSubmit() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		loop := rondo.LoopOf(ctx)
		n, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) { // on another goroutine
			sum := rondo.Submit(loop, func(ctx context.Context) (int, error) { // back on the loop
				return 20 + 22, rondo.Yield(ctx)
			})
			return sum.Wait(ctx)
		})
		fmt.Println(n, err)
		return nil
	})
	// Output: 42 <nil>
}

func ExampleEvery() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		beats := 0
		for range rondo.Every(ctx, time.Millisecond) {
			if beats++; beats == 3 {
				break
			}
		}
		fmt.Println(beats, "beats")
		return nil
	})
	// Output: 3 beats
}

// The values of a sequence that waits, one by one. The sequence is stopped
// half-way, and its clean-up waits although ctx is cancelled.
func ExamplePull() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			next, _ := rondo.Pull(g, func(yield func(string) bool) {
				defer rondo.Shield(g, func(ctx context.Context) error {
					err := rondo.Sleep(ctx, time.Millisecond)
					fmt.Println("hung up")
					return err
				})
				for _, word := range []string{"ready", "set", "go"} {
					if rondo.Sleep(g, time.Millisecond) != nil || !yield(word) {
						return
					}
				}
			})
			word, ok := next()
			fmt.Println(word, ok)
			word, ok = next()
			fmt.Println(word, ok)
			return nil // the Group stops the Pull before it returns
		})
	})
	// Output:
	// ready true
	// set true
	// hung up
}

package rondo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/rondo-go/rondo"
)

// At most two of five requests run at once.
func ExampleSemaphore() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		s := rondo.NewSemaphore(2)
		now, most := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 5 {
				g.Go(func(ctx context.Context) error {
					if err := s.Acquire(ctx); err != nil {
						return err
					}
					defer s.Release()
					now++
					most = max(most, now)
					err := rondo.Sleep(ctx, time.Millisecond) // the request
					now--
					return err
				})
			}
			return nil
		})
		fmt.Println("at most", most, err)
		return nil
	})
	// Output: at most 2 <nil>
}

// A Cond waits for a change of what a Mutex guards, here for enough money.
func ExampleCond() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var mu rondo.Mutex
		paid := rondo.Cond{L: &mu}
		balance := 0
		buyer := rondo.Go(ctx, func(ctx context.Context) error {
			if err := mu.Lock(ctx); err != nil {
				return err
			}
			defer mu.Unlock()
			for balance < 50 {
				if err := paid.Wait(ctx); err != nil {
					return err
				}
			}
			balance -= 50
			return nil
		})
		for range 3 {
			if err := mu.Lock(ctx); err != nil {
				return err
			}
			balance += 20
			paid.Signal()
			mu.Unlock()
		}
		err := buyer.Wait(ctx)
		fmt.Println(balance, err)
		return nil
	})
	// Output: 10 <nil>
}

// Three workers finish a phase before any of them begins the next.
func ExampleBarrier() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		b := rondo.NewBarrier(3)
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error {
					for phase := range 2 {
						fmt.Println("phase", phase)
						if _, err := b.Wait(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
	})
	// Output:
	// phase 0
	// phase 0
	// phase 0
	// phase 1
	// phase 1
	// phase 1
}

func ExampleNewPriorityQueue() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		q := rondo.NewPriorityQueue(0, func(a, b string) bool { return len(a) < len(b) })
		for _, word := range []string{"episode", "theme", "coda", "rondo"} {
			if err := q.Put(ctx, word); err != nil {
				return err
			}
		}
		q.Close()
		for word := range q.All(ctx) {
			fmt.Println(word)
		}
		return nil
	})
	// Output:
	// coda
	// theme
	// rondo
	// episode
}

// Readers hold the lock together, also while they wait; a writer holds it alone.
func ExampleRWMutex() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var mu rondo.RWMutex
		price := 1
		together := rondo.NewBarrier(3) // two readers, and the task that starts the writer then
		read := func(ctx context.Context) error {
			if err := mu.RLock(ctx); err != nil {
				return err
			}
			defer mu.RUnlock()
			before := price
			if _, err := together.Wait(ctx); err != nil {
				return err
			}
			err := rondo.Sleep(ctx, time.Millisecond)
			fmt.Println("both read; changed meanwhile:", price != before)
			return err
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(read)
			g.Go(read)
			if _, err := together.Wait(g); err != nil {
				return err
			}
			g.Go(func(ctx context.Context) error {
				if err := mu.Lock(ctx); err != nil {
					return err
				}
				defer mu.Unlock()
				price++
				fmt.Println("price", price)
				return nil
			})
			return nil
		})
	})
	// Output:
	// both read; changed meanwhile: false
	// both read; changed meanwhile: false
	// price 2
}

// A stack returns the last value first, here for a depth-first walk.
func ExampleNewStack() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		q := rondo.NewStack[string](0)
		for _, word := range []string{"theme", "episode", "coda"} {
			q.TryPut(word)
		}
		q.Close()
		for word := range q.All(ctx) {
			fmt.Println(word)
		}
		return nil
	})
	// Output:
	// coda
	// episode
	// theme
}

// Race asks several mirrors and returns the first answer.
func ExampleRace() {
	ask := func(mirror string, takes time.Duration) func(ctx context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			if err := rondo.Sleep(ctx, takes); err != nil {
				return "", err
			}
			if mirror == "down" {
				return "", errors.New("no answer")
			}
			return "hello from " + mirror, nil
		}
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		answer, err := rondo.Race(ctx, ask("down", 0), ask("far", time.Hour), ask("near", time.Millisecond))
		fmt.Println(answer, err)
		return nil
	})
	// Output: hello from near <nil>
}

// Map runs three functions at a time and yields the results in order.
func ExampleMap() {
	square := func(ctx context.Context, n int) (int, error) {
		if n == 4 {
			return 0, errors.New("four is broken")
		}
		return n * n, rondo.Sleep(ctx, time.Duration(10-n)*time.Millisecond)
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		for v, err := range rondo.Map(ctx, 3, slices.Values([]int{1, 2, 3, 4, 5, 6}), square) {
			if err != nil {
				fmt.Println(err)
				break // the others are cancelled, and have ended after the loop
			}
			fmt.Println(v)
		}
		return nil
	})
	// Output:
	// 1
	// 4
	// 9
	// four is broken
}

// Settle returns the outcome of each function.
func ExampleSettle() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		for _, r := range rondo.Settle(ctx,
			func(ctx context.Context) (string, error) { return "done", rondo.Sleep(ctx, time.Millisecond) },
			func(ctx context.Context) (string, error) { return "", errors.New("disk full") },
		) {
			fmt.Printf("%q %v\n", r.Value, r.Err)
		}
		return nil
	})
	// Output:
	// "done" <nil>
	// "" disk full
}

// Receive takes values from a channel that goroutines send to.
func ExampleReceive() {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for _, s := range []string{"one", "two"} {
			lines <- s
		}
	}()
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		for {
			line, ok, err := rondo.Receive(ctx, lines)
			if err != nil || !ok {
				return err
			}
			fmt.Println(line)
		}
	})
	// Output:
	// one
	// two
}

// AsCompleted yields Futures in the order in which they are done.
func ExampleAsCompleted() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		gate := rondo.NewFuture[string](ctx)
		late := rondo.Async(ctx, func(ctx context.Context) (string, error) { return gate.Wait(ctx) })
		soon := rondo.Async(ctx, func(ctx context.Context) (string, error) { return "soon", nil })
		for f := range rondo.AsCompleted(ctx, late, soon) {
			fmt.Println(f.Result())
			gate.Set("late")
		}
		return rondo.Check(ctx) // the range also ends when ctx is cancelled
	})
	// Output:
	// soon <nil>
	// late <nil>
}

// WaitAny returns the first of several tasks to end. The others go on.
func ExampleWaitAny() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var open rondo.Event
		reader := rondo.Go(ctx, open.Wait)
		writer := rondo.Go(ctx, func(ctx context.Context) error { return errors.New("broken pipe") })
		t, err := rondo.WaitAny(ctx, reader, writer)
		if err != nil {
			return err
		}
		fmt.Println(t == writer, t.Err(), reader.Done())
		open.Set()
		return reader.Wait(ctx)
	})
	// Output: true broken pipe false
}

// A worker takes the jobs that there are, and then stops if it is told to.
func ExampleSelect() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		jobs := rondo.NewQueue[string](0)
		var stop rondo.Event
		rondo.Go(ctx, func(ctx context.Context) error {
			for _, job := range []string{"sweep", "mop"} {
				if err := jobs.Put(ctx, job); err != nil {
					return err
				}
			}
			stop.Set()
			return nil
		})
		var job string
		for {
			switch i, err := rondo.Select(ctx, jobs.GetCase(&job), stop.WaitCase(), rondo.After(time.Minute)); {
			case err != nil:
				return err
			case i == 0:
				fmt.Println(job)
			case i == 1:
				fmt.Println("stopped")
				return nil
			case i == 2:
				fmt.Println("a minute without a job")
			}
		}
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// sweep
	// mop
	// stopped
}

// Two queues that are never empty have their turns one after the other.
func ExampleRoundRobin() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		a, b := rondo.NewQueue[string](0), rondo.NewQueue[string](0)
		for range 3 {
			a.TryPut("a")
			b.TryPut("b")
		}
		var turns rondo.RoundRobin
		var v string
		for range 4 {
			if _, err := turns.Select(ctx, a.GetCase(&v), b.GetCase(&v)); err != nil {
				return err
			}
			fmt.Print(v)
		}
		fmt.Println()
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: abab
}

// Of many downloads two run at once.
func ExampleScope_SetLimit() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		running, most := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(2)
			for range 10 {
				g.Go(func(ctx context.Context) error {
					running++
					most = max(most, running)
					defer func() { running-- }()
					return rondo.Sleep(ctx, time.Millisecond)
				})
			}
			return nil
		})
		fmt.Println(most, "at once")
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 2 at once
}

// A screen shows the last positions; older ones are of no use.
func ExampleNewSlidingQueue() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		positions := rondo.NewSlidingQueue[int](2)
		for x := range 5 {
			positions.TryPut(x)
		}
		positions.Close()
		for x := range positions.All(ctx) {
			fmt.Println(x)
		}
		fmt.Println(positions.Dropped(), "dropped")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3
	// 4
	// 3 dropped
}

// Four units of memory for all requests together; a large one takes three of them.
func ExampleSemaphore_AcquireN() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		memory := rondo.NewSemaphore(4)
		if err := memory.AcquireN(ctx, 3); err != nil {
			return err
		}
		defer memory.ReleaseN(3)
		fmt.Println("room for two more:", memory.TryAcquireN(2))
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: room for two more: false
}

// A function without a result on a goroutine, where it may block.
func ExampleOffloadFunc() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			_, err := os.Stat("/no/such/file")
			return err
		})
	})
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output: true
}

// A task that has nothing to do but to clean up in the end.
func ExampleWaitCanceled() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				err := rondo.WaitCanceled(ctx)
				fmt.Println("cleaned up")
				return err
			})
			if err := rondo.Yield(g); err != nil {
				return err
			}
			g.Cancel(nil)
			return nil
		})
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: cleaned up
}

// A mailbox has one letter. Two runs of a simulation must put the same ones into it.
func ExampleHanded() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		var letter string
		var full rondo.WaitList
		rondo.Go(ctx, func(context.Context) error {
			letter = "hello"
			rondo.Handed(letter)
			full.WakeAll()
			return nil
		})
		if err := full.Park(ctx, rondo.Reason{What: "letter"}); err != nil {
			return err
		}
		fmt.Println(letter)
		return nil
	})
	fmt.Println(err)
	// Output:
	// hello
	// <nil>
}

package examples_test

// These examples are the Go side of docs/FROM-ASYNCIO.md, whose snippets are
// stretches of this file.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// run runs main and prints an error that it returns.
func run(main func(ctx context.Context) error) {
	if err := rondo.Run(context.Background(), main); err != nil {
		fmt.Println("Run:", err)
	}
}

// A cancelled task can wait no more, however often it tries.
func Example_cancelledForGood() {
	worker := func(ctx context.Context) error {
		err := rondo.Sleep(ctx, time.Hour)       // fails when the task is cancelled
		again := rondo.Sleep(ctx, 2*time.Second) // fails at once: still cancelled
		fmt.Println(err, "/", again)
		return err
	}
	run(func(ctx context.Context) error {
		t := rondo.Go(ctx, worker)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		t.Cancel(nil)
		t.Cancel(errors.New("the second call does nothing"))
		fmt.Println(t.Wait(ctx))
		return nil
	})
	// Output:
	// context canceled / context canceled
	// context canceled
}

// The error of a cancelled wait is the cause; that there was a cancellation is
// what ctx says.
func Example_causeOfCancellation() {
	run(func(ctx context.Context) error {
		full := errors.New("disk full")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				err := rondo.Sleep(ctx, time.Hour)
				fmt.Println(err, ctx.Err() != nil, errors.Is(err, context.Canceled))
				return err
			})
			g.Go(func(ctx context.Context) error { return full })
			return nil
		})
		fmt.Println(err == full)
		return nil
	})
	// Output:
	// disk full true false
	// true
}

// Clean-up that waits is done in a Shield, which returns when it is done.
func Example_shieldedCleanUp() {
	save := func(ctx context.Context) error {
		err := rondo.Sleep(ctx, time.Millisecond)
		fmt.Println("saved")
		return err
	}
	run(func(ctx context.Context) error {
		t := rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.Shield(ctx, save)
			fmt.Println("after the shield:", err)
			return rondo.Check(ctx)
		})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		t.Cancel(nil) // in the midst of save
		fmt.Println(t.Wait(ctx))
		return nil
	})
	// Output:
	// saved
	// after the shield: <nil>
	// context canceled
}

// A task that is cancelled before it has begun begins all the same.
func Example_cancelledBeforeTheStart() {
	run(func(ctx context.Context) error {
		t := rondo.Go(ctx, func(ctx context.Context) error {
			fmt.Println("begun")
			return rondo.Yield(ctx)
		})
		t.Cancel(nil)
		fmt.Println(t.Wait(ctx))
		return nil
	})
	// Output:
	// begun
	// context canceled
}

// What was delivered before the cancellation is not lost.
func Example_wakeUpWins() {
	run(func(ctx context.Context) error {
		f := rondo.NewFuture[int](ctx)
		t := rondo.Go(ctx, func(ctx context.Context) error {
			n, err := f.Wait(ctx)
			fmt.Println(n, err)
			return rondo.Check(ctx)
		})
		if err := rondo.Yield(ctx); err != nil { // it waits for f
			return err
		}
		f.Set(1)
		t.Cancel(nil) // f.Wait in t returns 1
		fmt.Println(t.Wait(ctx))
		return nil
	})
	// Output:
	// 1 <nil>
	// context canceled
}

// Tasks that are started inside a Timeout end with it.
func Example_timeoutOwnsItsTasks() {
	run(func(ctx context.Context) error {
		err := rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				defer fmt.Println("the child has ended")
				return rondo.Sleep(ctx, time.Hour)
			})
			return rondo.Sleep(ctx, time.Hour)
		})
		fmt.Println(err)
		return nil
	})
	// Output:
	// the child has ended
	// context deadline exceeded
}

// A wait that is given no ctx ends with the scope that its task opened last.
func Example_timeoutAroundAccept() {
	run(func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "localhost:0")
		if err != nil {
			return err
		}
		defer l.Close()
		err = rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
			_, err := l.Accept()
			return err
		})
		fmt.Println(err)
		return nil
	})
	// Output: context deadline exceeded
}

// A deadline that comes too late to end anything is no error.
func Example_timeoutThatEndedNothing() {
	run(func(ctx context.Context) error {
		err := rondo.Timeout(ctx, -time.Second, func(ctx context.Context) error {
			return nil
		})
		fmt.Println(err)
		return nil
	})
	// Output: <nil>
}

// Gather does not leave the others running when one fails.
func Example_gatherEndsTheOthers() {
	fail := func(ctx context.Context) (string, error) { return "", errors.New("no route") }
	slow := func(ctx context.Context) (string, error) {
		defer fmt.Println("slow has ended")
		return "slow", rondo.Sleep(ctx, time.Hour)
	}
	run(func(ctx context.Context) error {
		words, err := rondo.Gather(ctx, fail, slow)
		fmt.Println(words, err)
		return nil
	})
	// Output:
	// slow has ended
	// [] no route
}

// Nobody keeps t, and the task runs to its end.
func Example_noReferenceKept() {
	run(func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				err := rondo.Sleep(ctx, time.Millisecond)
				fmt.Println("done")
				return err
			})
			return nil
		})
	})
	// Output: done
}

// An async generator is an iter.Seq whose body waits. It is closed by the break.
func Example_asyncGenerator() {
	ticks := func(ctx context.Context) iter.Seq[int] {
		return func(yield func(int) bool) {
			defer fmt.Println("closed")
			for i := 0; rondo.Sleep(ctx, time.Millisecond) == nil; i++ {
				if !yield(i) {
					return
				}
			}
		}
	}
	run(func(ctx context.Context) error {
		for i := range ticks(ctx) {
			if i == 2 {
				break
			}
			fmt.Println(i)
		}
		fmt.Println("after the loop")
		return nil
	})
	// Output:
	// 0
	// 1
	// closed
	// after the loop
}

// There is no StreamReader: the connection is a net.Conn, and bufio reads it.
func Example_lines() {
	serve := func(ctx context.Context, c net.Conn) error {
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			if _, err := fmt.Fprintln(c, strings.ToUpper(lines.Text())); err != nil {
				return err
			}
		}
		return lines.Err()
	}
	run(func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			l, err := socket.Listen(ctx, "tcp", "localhost:0")
			if err != nil {
				return err
			}
			g.Go(func(ctx context.Context) error { return socket.Serve(ctx, l, serve) })
			said, err := rondo.Offload(g, func(ctx context.Context) (string, error) {
				return say(l.Addr(), "rondo\n")
			})
			fmt.Print(said)
			g.Cancel(nil)
			return err
		})
	})
	// Output: RONDO
}

// say is a client that blocks, on a goroutine of its own.
func say(to net.Addr, line string) (answer string, err error) {
	c, err := net.Dial(to.Network(), to.String())
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := fmt.Fprint(c, line); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

// A deadline can be moved while it has not passed.
func Example_reschedule() {
	run(func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetDeadline(rondo.Now(ctx).Add(time.Hour))
			g.SetDeadline(rondo.Now(ctx).Add(10 * time.Millisecond))
			return rondo.Sleep(g, 2*time.Hour)
		})
		fmt.Println(err)
		return nil
	})
	// Output: context deadline exceeded
}

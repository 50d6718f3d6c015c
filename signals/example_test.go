//go:build unix

package signals_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
)

// A task that reads its configuration again at each SIGHUP.
func ExampleNotify() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		hups := signals.Notify(ctx, syscall.SIGHUP)
		me, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		defer me.Release()
		if err := me.Signal(syscall.SIGHUP); err != nil {
			return err
		}
		for s := range hups {
			fmt.Println("read again because of", s)
			break
		}
		return rondo.Check(ctx)
	})
	fmt.Println(err)
	// Output:
	// read again because of hangup
	// <nil>
}

// A part of a program that Ctrl-C ends, while the rest goes on.
func ExampleCancel() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		err := signals.Cancel(ctx, func(ctx context.Context) error {
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				return err
			}
			var never rondo.Event
			return never.Wait(ctx)
		})
		fmt.Println(err)
		return rondo.Yield(ctx)
	})
	fmt.Println(err)
	// Output:
	// rondo: ended by a signal: interrupt
	// <nil>
}

// A server that ends in order: when the signal comes, those who are served may go on
// for five seconds.
func ExampleServe() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		var s clock // a *socket.Server in a real program, with its listener
		return signals.Serve(ctx, &s, nil, 5*time.Second)
	})
	fmt.Println(err)
	// Output:
	// serving
	// shutting down because of terminated
	// <nil>
}

// A worker: the signal ends the taking of jobs, and the job that has begun is finished.
func ExampleRun() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		jobs := rondo.NewQueue[string](10)
		_ = jobs.TryPut("the first job")
		return signals.Run(ctx, 10*time.Second, func(ctx context.Context, tasks *rondo.Scope) error {
			for job := range jobs.All(ctx) {
				tasks.Go(func(ctx context.Context) error {
					if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
						return err
					}
					err := rondo.Sleep(ctx, 20*time.Millisecond)
					fmt.Println(job, "is done")
					return err
				})
			}
			return rondo.Check(ctx)
		})
	})
	fmt.Println(err)
	// Output:
	// the first job is done
	// <nil>
}

// Received says in Shutdown which signal it was: here in that of clock.
func ExampleReceived() {
	_ = func(ctx context.Context, s *clock) error {
		if signals.Received(ctx) == syscall.SIGHUP {
			fmt.Println("a new process takes over")
		}
		return s.Shutdown(ctx)
	}
}

// clock is a server without connections.
type clock struct{ closed rondo.Event }

func (c *clock) Serve(ctx context.Context, _ net.Listener) error {
	fmt.Println("serving")
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		return err
	}
	return c.closed.Wait(ctx)
}

func (c *clock) Shutdown(ctx context.Context) error {
	fmt.Println("shutting down because of", signals.Received(ctx))
	c.closed.Set()
	return nil
}

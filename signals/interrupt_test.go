//go:build unix

package signals_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
)

// TestC197Interrupt: with Runner.Interrupt the first signal cancels all tasks of
// the loop. Run waits for the clean-up and returns the signal as its error.
func TestC197Interrupt(t *testing.T) {
	r := rondo.Runner{Interrupt: true}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		var cleaned int
		err := r.Run(t.Context(), func(ctx context.Context) error {
			for range 3 {
				rondo.Go(ctx, func(ctx context.Context) error {
					err := forever(ctx)
					_ = rondo.Shield(ctx, rondo.Yield)
					cleaned++
					return err
				})
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if err := raise(s); err != nil {
				return err
			}
			return forever(ctx)
		})
		var ended signals.Error
		if !errors.As(err, &ended) || ended.Sig != s || cleaned != 3 {
			t.Errorf("%v: Run returned %v, and %d tasks have cleaned up", s, err, cleaned)
		}
		if err.Error() != "rondo: ended by a signal: "+s.String() {
			t.Errorf("the error says %q", err)
		}
	}
}

// TestInterruptHeeded: what main makes of it is what Run returns.
func TestInterruptHeeded(t *testing.T) {
	r := rondo.Runner{Interrupt: true}
	why := errors.New("why")
	for _, want := range []error{nil, why} {
		err := r.Run(t.Context(), func(ctx context.Context) error {
			if err := raise(syscall.SIGINT); err != nil {
				return err
			}
			if err := forever(ctx); err != (rondo.SignalError{Sig: syscall.SIGINT}) {
				return err
			}
			return want
		})
		if err != want {
			t.Errorf("Run returned %v, want %v", err, want)
		}
	}
}

// TestC198Interrupt: with Runner.Interrupt a signal changes nothing if main is
// cancelled already.
func TestC198Interrupt(t *testing.T) {
	r := rondo.Runner{Interrupt: true}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := r.Run(ctx, func(ctx context.Context) error {
		cancel(why)
		err := forever(ctx)
		return errors.Join(err, rondo.Shield(ctx, func(ctx context.Context) error {
			loop := rondo.LoopOf(ctx)
			posts := loop.Stats().Posts
			if err := raise(syscall.SIGTERM); err != nil {
				return err
			}
			for loop.Stats().Posts == posts {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			return rondo.Yield(ctx)
		}))
	})
	if !errors.Is(err, why) || errors.As(err, new(signals.Error)) {
		t.Errorf("Run returned %v", err)
	}
}

// TestInterruptAndDeadlock: a signal can only cancel, so waiting for one does not
// hide a deadlock.
func TestInterruptAndDeadlock(t *testing.T) {
	r := rondo.Runner{Interrupt: true, EndDeadlock: time.Millisecond}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		var never rondo.Event
		if err := raise(syscall.SIGINT); err != nil {
			return err
		}
		// With a timer the loop is not in deadlock before the signal has come.
		if err := rondo.Sleep(ctx, time.Hour); err != (rondo.SignalError{Sig: syscall.SIGINT}) {
			return err
		}
		return rondo.Shield(ctx, never.Wait)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v", err)
	}
}

// runnerStages is a child whose loop does not end for the first signal.
func runnerStages() error {
	r := rondo.Runner{Interrupt: true}
	return r.Run(context.Background(), func(ctx context.Context) error { return stubborn(ctx, false) })
}

// afterRunner is a child that gets the signal when Run has returned.
func afterRunner() error {
	r := rondo.Runner{Interrupt: true}
	if err := r.Run(context.Background(), rondo.Yield); err != nil {
		return err
	}
	os.Stdout.WriteString("done\n")
	if err := raise(syscall.SIGTERM); err != nil {
		return err
	}
	select {}
}

// afterNotify is a child that gets the signal when the loop of a Notify has ended whose ctx is
// never cancelled.
func afterNotify() error {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		signals.Notify(context.WithoutCancel(ctx), syscall.SIGTERM)
		return nil
	})
	if err != nil {
		return err
	}
	os.Stdout.WriteString("done\n")
	if err := raise(syscall.SIGTERM); err != nil {
		return err
	}
	select {}
}

// hangs is a child with a task that holds the loop, so that the first signal
// does nothing and the second must.
func hangs() error {
	r := rondo.Runner{Interrupt: true}
	return r.Run(context.Background(), func(context.Context) error {
		if err := raise(syscall.SIGINT, syscall.SIGTERM); err != nil {
			return err
		}
		select {}
	})
}

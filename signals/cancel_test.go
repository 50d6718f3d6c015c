//go:build unix

package signals_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
)

// TestC197Cancel: in signals.Cancel the first signal cancels the scope. Cancel
// waits for the clean-up, returns the signal as its error, and can be used again.
func TestC197Cancel(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, test := range []struct {
			send  syscall.Signal
			catch []os.Signal
		}{
			{syscall.SIGINT, nil},
			{syscall.SIGTERM, nil},
			{syscall.SIGUSR1, []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2}},
		} {
			cleaned := 0
			cleanUp := func(ctx context.Context) error {
				for range 5 {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				cleaned++
				return nil
			}
			err := signals.Cancel(ctx, func(ctx context.Context) error {
				for range 2 {
					rondo.Go(ctx, func(ctx context.Context) error {
						err := forever(ctx)
						return errors.Join(err, rondo.Shield(ctx, cleanUp))
					})
				}
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
				return raise(test.send)
			}, test.catch...)
			if err != (signals.Error{Sig: test.send}) || cleaned != 2 {
				t.Errorf("%v: %v, and %d tasks have cleaned up", test.send, err, cleaned)
			}
			if err := rondo.Check(ctx); err != nil {
				t.Errorf("the scope above: %v", err)
			}
		}
		return nil
	})
}

// TestCancelUnasked: without a signal Cancel is a Group.
func TestCancelUnasked(t *testing.T) {
	run(t, func(ctx context.Context) error {
		why := errors.New("why")
		for _, want := range []error{nil, why} {
			if err := signals.Cancel(ctx, func(context.Context) error { return want }); err != want {
				t.Errorf("%v, want %v", err, want)
			}
		}
		// What fails besides comes with it.
		err := signals.Cancel(ctx, func(ctx context.Context) error {
			if err := raise(syscall.SIGUSR1); err != nil {
				return err
			}
			_ = forever(ctx)
			return why
		}, syscall.SIGUSR1)
		if !errors.Is(err, why) || !errors.Is(err, signals.Error{Sig: syscall.SIGUSR1}) {
			t.Errorf("with an error besides: %v", err)
		}
		return nil
	})
}

// TestC198CancelledAlready: a signal changes nothing in a scope of signals.Cancel
// that is cancelled already.
func TestC198CancelledAlready(t *testing.T) {
	run(t, func(ctx context.Context) error {
		why := errors.New("why")
		var seen error
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			return signals.Cancel(g, func(ctx context.Context) error {
				g.Cancel(why)
				return rondo.Shield(ctx, func(shielded context.Context) error {
					heard := signals.Notify(shielded, syscall.SIGUSR1)
					if err := raise(syscall.SIGUSR1); err != nil {
						return err
					}
					for range heard {
						break
					}
					for range 100 {
						if err := rondo.Yield(shielded); err != nil {
							return err
						}
					}
					seen = rondo.Check(ctx)
					return seen
				})
			}, syscall.SIGUSR1)
		})
		if err != why || seen != why {
			t.Errorf("Cancel returned %v, the wait %v", err, seen)
		}
		return nil
	})
}

// TestSecondSignal: after the first signal the second ends the process, while
// the clean-up of the first is still under way.
func TestSecondSignal(t *testing.T) {
	for name, want := range map[string]string{"two stages": "cleaning up\n", "Runner": "cleaning up\n", "after the body": "done\n", "after Runner": "done\n", "after Notify": "done\n"} {
		if by, said := ends(t, name); by != syscall.SIGTERM || said != want {
			t.Errorf("%s: ended by %v, and said %q", name, by, said)
		}
	}
	// Which of two that come at once is the first is the system's choice.
	for _, name := range []string{"both at once", "hangs"} {
		for range 5 {
			if by, said := ends(t, name); by != syscall.SIGTERM && by != syscall.SIGINT {
				t.Errorf("%s: ended by %v, and said %q", name, by, said)
			}
		}
	}
}

// twoStages is a child that gets both signals in one scope, one after the other
// or both at once, and does not end for the first.
func twoStages(atOnce bool) func() error {
	return func() error {
		return rondo.Run(context.Background(), func(ctx context.Context) error {
			return signals.Cancel(ctx, func(ctx context.Context) error {
				if atOnce {
					if err := raise(syscall.SIGINT, syscall.SIGTERM); err != nil {
						return err
					}
				}
				return stubborn(ctx, atOnce)
			})
		})
	}
}

// stubborn waits for the first signal, and then for the second.
func stubborn(ctx context.Context, sent bool) error {
	if !sent {
		if err := raise(syscall.SIGINT); err != nil {
			return err
		}
	}
	err := forever(ctx)
	if err != (signals.Error{Sig: syscall.SIGINT}) && !sent {
		return err
	}
	return rondo.Shield(ctx, func(ctx context.Context) error {
		if !sent {
			os.Stdout.WriteString("cleaning up\n")
			if err := raise(syscall.SIGTERM); err != nil {
				return err
			}
		}
		return forever(ctx)
	})
}

// afterBody is a child that gets the signal when Cancel has returned.
func afterBody() error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		if err := signals.Cancel(ctx, rondo.Yield); err != nil {
			return err
		}
		os.Stdout.WriteString("done\n")
		if err := raise(syscall.SIGTERM); err != nil {
			return err
		}
		return forever(ctx)
	})
}

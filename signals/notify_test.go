//go:build unix

package signals_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/sim"
)

// TestC196WhileAsleep: a signal that comes while the loop sleeps in its poller
// is delivered at once, to a task.
func TestC196WhileAsleep(t *testing.T) {
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			hups := signals.Notify(g, syscall.SIGHUP)
			sent := 0
			g.Go(func(ctx context.Context) error {
				n := 0
				for s := range hups {
					if n++; s != syscall.SIGHUP || n != sent {
						t.Errorf("signal %d of %d is %v", n, sent, s)
					}
					if n == 100 {
						return nil
					}
					// The loop has nothing to do while the goroutine raises the next.
					rondo.Go(g, func(ctx context.Context) error { sent++; return offRaise(ctx) })
				}
				return rondo.Check(ctx)
			})
			sent++
			return offRaise(g)
		})
	})
}

func offRaise(ctx context.Context) error {
	_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, raise(syscall.SIGHUP) })
	return err
}

// TestBeforeTheWait: what comes between the call of Notify and the first
// iteration is not lost, nor what comes between two iterations.
func TestBeforeTheWait(t *testing.T) {
	run(t, func(ctx context.Context) error {
		seq := signals.Notify(ctx, syscall.SIGUSR1, syscall.SIGUSR2)
		if err := raise(syscall.SIGUSR1, syscall.SIGUSR2); err != nil {
			return err
		}
		seen := map[os.Signal]int{}
		for s := range seq {
			if seen[s]++; len(seen) < 2 {
				continue
			}
			// Both have come. One more comes while nobody waits.
			if seen[syscall.SIGUSR1] == 2 {
				break
			}
			if err := raise(syscall.SIGUSR1); err != nil {
				return err
			}
		}
		if seen[syscall.SIGUSR1] != 2 || seen[syscall.SIGUSR2] != 1 {
			t.Errorf("got %v", seen)
		}
		for range seq {
			t.Error("a sequence that was left goes on")
		}
		return nil
	})
}

// TestEverybodyHears: each Notify gets each signal, and one that is left takes
// nothing from the others.
func TestEverybodyHears(t *testing.T) {
	run(t, func(ctx context.Context) error {
		const n = 10
		heard := 0
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range n {
				seq := signals.Notify(g, syscall.SIGUSR1)
				g.Go(func(ctx context.Context) error {
					mine := 0
					for range seq {
						heard++
						if mine++; mine == i+1 {
							break
						}
					}
					return rondo.Check(ctx)
				})
			}
			for i := range n {
				heard = 0
				if err := raise(syscall.SIGUSR1); err != nil {
					return err
				}
				for heard < n-i {
					if err := rondo.Yield(g); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

// TestCancelled: the sequence ends when its ctx is cancelled, be that before or
// while it is waited for; what came is not taken then.
func TestCancelled(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, first := range []bool{false, true} {
			why := errors.New("why")
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				seq := signals.Notify(g, syscall.SIGUSR1)
				if first {
					g.Cancel(why)
				} else {
					rondo.Go(ctx, func(context.Context) error { g.Cancel(why); return nil })
				}
				for range seq {
					t.Error("a signal in a cancelled scope")
				}
				return rondo.Check(g)
			})
			if err != why {
				t.Errorf("cancelled first %t: %v", first, err)
			}
		}
		return nil
	})
}

// TestLetGo: after the sequence was left, and after its scope has ended, the
// signal does what it does by default.
func TestLetGo(t *testing.T) {
	for _, name := range []string{"left", "not begun", "in a loop that has ended"} {
		if by, said := ends(t, name); by != syscall.SIGTERM {
			t.Errorf("%s: ended by %v, and said %s", name, by, said)
		}
	}
}

// TestPendingAtTheEnd: what came and was not taken when the loop ends is raised
// again, and others hear of it.
//
// Method: some rounds, for a signal may be anywhere on its way to the loop when
// that ends. One that is lost lets the test hang.
func TestPendingAtTheEnd(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGUSR1)
	defer signal.Stop(heard)
	for range 20 {
		run(t, func(ctx context.Context) error {
			signals.Notify(ctx, syscall.SIGUSR1)
			if err := raise(syscall.SIGUSR1); err != nil {
				return err
			}
			<-heard
			// It is on its way, and likely to come in this time.
			return rondo.Sleep(ctx, time.Millisecond)
		})
		select {
		case <-heard:
		case <-time.After(30 * time.Second):
			t.Fatal("the signal was lost")
		}
	}
}

// children are what a process of its own does.
var children = map[string]func() error{
	"left": func() error {
		return rondo.Run(context.Background(), func(ctx context.Context) error {
			seq := signals.Notify(ctx, syscall.SIGTERM)
			if err := raise(syscall.SIGTERM); err != nil {
				return err
			}
			for range seq {
				break
			}
			if err := raise(syscall.SIGTERM); err != nil {
				return err
			}
			return forever(ctx)
		})
	},
	"not begun": func() error {
		return rondo.Run(context.Background(), func(ctx context.Context) error {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				signals.Notify(g, syscall.SIGTERM)
				return nil
			})
			if err != nil {
				return err
			}
			if err := raise(syscall.SIGTERM); err != nil {
				return err
			}
			return forever(ctx)
		})
	},
	"in a loop that has ended": func() error {
		err := rondo.Run(context.Background(), func(ctx context.Context) error {
			signals.Notify(ctx, syscall.SIGTERM)
			return nil
		})
		if err != nil {
			return err
		}
		if err := raise(syscall.SIGTERM); err != nil {
			return err
		}
		select {}
	},
	"two stages":     twoStages(false),
	"both at once":   twoStages(true),
	"Runner":         runnerStages,
	"after Runner":   afterRunner,
	"hangs":          hangs,
	"after the body": afterBody,
}

func TestMisuse(t *testing.T) {
	run(t, func(ctx context.Context) error {
		outside := errors.Join(panicOf(func() { signals.Notify(context.Background(), os.Interrupt) }))
		_, elsewhere := rondo.Offload(ctx, func(context.Context) (int, error) {
			return 0, panicOf(func() { signals.Notify(ctx, os.Interrupt) })
		})
		for _, test := range []struct {
			got  error
			want string
		}{
			{outside, "rondo: signals.Notify with a ctx that does not come from Run"},
			{elsewhere, "rondo: signals.Notify from a goroutine that is not on the loop"},
			{panicOf(func() { signals.Notify(ctx) }), "rondo: signals.Notify of no signal: name those that are meant"},
			{panicOf(func() { signals.Notify(ctx, os.Kill) }), `rondo: signals.Notify of "killed", which cannot be caught`},
			{panicOf(func() { signals.Cancel(ctx, forever, syscall.SIGSTOP) }), `rondo: signals.Cancel of "stopped (signal)", which cannot be caught`},
			{panicOf(func() { signals.Cancel(ctx, nil) }), "rondo: signals.Cancel with a nil body"},
		} {
			if test.got == nil || test.got.Error() != test.want {
				t.Errorf("got %v, want %s", test.got, test.want)
			}
		}
		if err := signals.Cancel(context.Background(), forever); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("without a loop: %v", err)
		}
		return nil
	})
}

func panicOf(fn func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	fn()
	return nil
}

// TestSimulated: there are no signals in a simulation, but what waits for them
// can be tested there.
func TestSimulated(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error {
			for range signals.Notify(ctx, syscall.SIGHUP) {
				t.Error("a signal")
			}
			return nil
		})
		if err := rondo.Yield(ctx); err != nil {
			t.Error(err)
		}
		task.Cancel(nil)
		if err := signals.Cancel(ctx, task.Wait); err != nil {
			t.Error(err)
		}
	})
}

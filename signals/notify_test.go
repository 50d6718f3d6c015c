//go:build unix

package signals_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/sim"
)

// TestC196WhileAsleep: a signal that comes while the loop sleeps wakes it, and a
// task gets the signal.
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

// TestBeforeTheWait: a signal that comes between the call of Notify and the first
// iteration is not lost, nor one that comes between two iterations.
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

// TestEachNotifyGetsOne: each Notify gets each signal, and one that is left takes
// nothing from the others.
func TestEachNotifyGetsOne(t *testing.T) {
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

// TestCancelled: the sequence ends when its ctx is cancelled, whether before or during
// the wait for it. A signal that has come is not taken then.
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

// A broken is a context that ends when done is closed, and whose Err panics from then on.
type broken struct {
	context.Context
	done chan struct{}
}

func (b broken) Done() <-chan struct{} { return b.done }

func (b broken) Err() error {
	select {
	case <-b.done:
		panic("broken")
	default:
		return nil
	}
}

// TestBrokenContext: Notify ends with its context, whose Err panics then. That ends no goroutine,
// nor the loop.
func TestBrokenContext(t *testing.T) {
	err := (&rondo.Runner{EndDeadlock: 1}).Run(t.Context(), func(ctx context.Context) error {
		b := broken{ctx, make(chan struct{})}
		signals.Notify(b, syscall.SIGUSR1)
		close(b.done)
		return new(rondo.Event).Wait(ctx) // a deadlock, when nothing is caught any more
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Error(err)
	}
}

// TestDefaultEffect: after the sequence was left, and after its scope has ended, the
// signal has its default effect. So has one that came and was not taken when the
// sequence was left.
func TestDefaultEffect(t *testing.T) {
	for _, name := range []string{"left", "left behind", "not begun", "in a loop that has ended"} {
		if by, said := ends(t, name); by != syscall.SIGTERM {
			t.Errorf("%s: ended by %v, and said %s", name, by, said)
		}
	}
}

// TestPendingAtTheEnd: a signal that came and was not taken when the loop ends is
// not raised again, so a channel of os/signal gets it once.
//
// Method: some rounds, because a signal may be anywhere on its way to the loop when
// that ends.
func TestPendingAtTheEnd(t *testing.T) {
	heard := make(chan os.Signal, 10)
	signal.Notify(heard, syscall.SIGUSR1)
	defer signal.Stop(heard)
	fence := make(chan os.Signal, 1)
	signal.Notify(fence, syscall.SIGUSR2)
	defer signal.Stop(fence)
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
		// The system delivers this one after a copy that was raised again.
		if err := raise(syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		<-fence
		if n := len(heard); n != 0 {
			t.Fatal("the channel heard one signal", 1+n, "times")
		}
	}
}

// TestOneCopy: one signal that several catchers get does not end a program in its
// clean-up.
func TestOneCopy(t *testing.T) {
	for name, want := range map[string]string{
		"Runner and Notify":    "handling hangup\ncleaned\n",
		"Cancel and Notify":    "cleaned\n",
		"a channel and Notify": "cleaned\n",
	} {
		if by, said := ends(t, name); by != 0 || said != want {
			t.Errorf("%s: ended by %v, and said %q", name, by, said)
		}
	}
}

// cleanUp waits for its cancellation, and then cleans up. A signal that was raised
// again would have come by then.
func cleanUp(ctx context.Context) error {
	err := forever(ctx)
	return errors.Join(err, rondo.Shield(ctx, func(ctx context.Context) error {
		// What is posted, or sent by the goroutines of signals, comes first.
		for range 100 {
			if _, err := rondo.Offload(ctx, func(context.Context) (int, error) { runtime.Gosched(); return 0, nil }); err != nil {
				return err
			}
		}
		os.Stdout.WriteString("cleaned\n")
		return nil
	}))
}

// released waits until the goroutines of Notify have ended, of which there were none
// before.
func released(before int) {
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

// oneTerm accepts the end of a program by SIGTERM.
func oneTerm(err error) error {
	if errors.Is(err, signals.Error{Sig: syscall.SIGTERM}) {
		return nil
	}
	return err
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
	"left behind": func() error {
		return rondo.Run(context.Background(), func(ctx context.Context) error {
			seq := signals.Notify(ctx, syscall.SIGTERM, syscall.SIGHUP)
			if err := raise(syscall.SIGHUP); err != nil {
				return err
			}
			for range seq {
				if err := raise(syscall.SIGTERM); err != nil {
					return err
				}
				for loop := rondo.LoopOf(ctx); loop.Stats().Posts < 2; {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				break
			}
			return forever(ctx)
		})
	},
	"Runner and Notify": func() error {
		r := rondo.Runner{Interrupt: true}
		return oneTerm(r.Run(context.Background(), func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				for s := range signals.Notify(ctx, syscall.SIGHUP, syscall.SIGTERM) {
					fmt.Println("handling", s)
					if err := raise(syscall.SIGTERM); err != nil {
						return err
					}
					_ = forever(ctx)
				}
				return nil
			})
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if err := raise(syscall.SIGHUP); err != nil {
				return err
			}
			return cleanUp(ctx)
		}))
	},
	"Cancel and Notify": func() error {
		return oneTerm(rondo.Run(context.Background(), func(ctx context.Context) error {
			return signals.Cancel(ctx, func(ctx context.Context) error {
				signals.Notify(ctx, syscall.SIGTERM)
				if err := raise(syscall.SIGTERM); err != nil {
					return err
				}
				return cleanUp(ctx)
			})
		}))
	},
	"a channel and Notify": func() error {
		c := make(chan os.Signal, 10)
		signal.Notify(c, syscall.SIGTERM)
		defer signal.Stop(c)
		return rondo.Run(context.Background(), func(ctx context.Context) error {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				signals.Notify(g, syscall.SIGTERM)
				if err := raise(syscall.SIGTERM); err != nil {
					return err
				}
				<-c
				for loop := rondo.LoopOf(g); loop.Stats().Posts < 1; {
					if err := rondo.Yield(g); err != nil {
						return err
					}
				}
				g.Cancel(nil)
				return cleanUp(g)
			})
			if len(c) != 0 {
				return errors.New("the channel heard one signal twice")
			}
			return nil
		})
	},
	"not begun": func() error {
		return rondo.Run(context.Background(), func(ctx context.Context) error {
			before := runtime.NumGoroutine()
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				signals.Notify(g, syscall.SIGTERM)
				return nil
			})
			if err != nil {
				return err
			}
			released(before)
			if err := raise(syscall.SIGTERM); err != nil {
				return err
			}
			return forever(ctx)
		})
	},
	"in a loop that has ended": func() error {
		before := runtime.NumGoroutine()
		err := rondo.Run(context.Background(), func(ctx context.Context) error {
			signals.Notify(ctx, syscall.SIGTERM)
			return nil
		})
		if err != nil {
			return err
		}
		released(before)
		if err := raise(syscall.SIGTERM); err != nil {
			return err
		}
		select {}
	},
	"two stages":     twoStages(false),
	"both at once":   twoStages(true),
	"Runner":         runnerStages,
	"after Runner":   afterRunner,
	"after Notify":   afterNotify,
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
			{panicOf(func() { signals.Notify(ctx) }), "rondo: signals.Notify without a signal: name the signals to catch"},
			{panicOf(func() { signals.Notify(ctx, os.Kill) }), `rondo: signals.Notify of "killed", which cannot be caught`},
			{panicOf(func() { signals.Notify(ctx, os.Interrupt, nil) }), "rondo: signals.Notify of a nil signal, which never comes"},
			{panicOf(func() { signals.Cancel(ctx, forever, nil) }), "rondo: signals.Cancel of a nil signal, which never comes"},
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

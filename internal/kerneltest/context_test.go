package kerneltest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

type ctxKey string

// TestStandardContexts: Rondo's waits accept contexts that package context makes
// from a ctx of a task. The test uses the real clock, because context.WithTimeout
// does.
func TestStandardContexts(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if err := rondo.Sleep(c, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep under context.WithTimeout returned %v", err)
		}
		if err := rondo.Group(c, func(*rondo.Scope) error { panic("ran") }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Group under an expired context returned %v", err)
		}

		c2, cancel2 := context.WithCancelCause(ctx)
		err := rondo.Group(c2, func(g *rondo.Scope) error {
			g.Go(forever)
			if err := rondo.Yield(g); err != nil {
				return err
			}
			cancel2(errBroken)
			return forever(g)
		})
		if err != errBroken {
			t.Errorf("Group under a context cancelled with a cause returned %v", err)
		}

		c3 := context.WithValue(ctx, ctxKey("a"), 1)
		return rondo.Group(c3, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				if ctx.Value(ctxKey("a")) != 1 || ctx.Value(ctxKey("b")) != nil {
					t.Error("a task does not see the values of its scope's ctx, or it sees others")
				}
				return rondo.Sleep(context.WithValue(ctx, ctxKey("b"), 2), time.Microsecond)
			})
			return nil
		})
	})
}

// TestRunBelowAnotherLoop: a loop that runs with a ctx of another one ends with that, whether the
// ctx is a scope or a context of the standard library below it.
func TestRunBelowAnotherLoop(t *testing.T) {
	for name, derive := range map[string]func(ctx context.Context) context.Context{
		"a scope":   func(ctx context.Context) context.Context { return ctx },
		"WithValue": func(ctx context.Context) context.Context { return context.WithValue(ctx, ctxKey("a"), 1) },
	} {
		run(t, func(outer context.Context) error {
			return rondo.Group(outer, func(g *rondo.Scope) error {
				err := rondo.Shield(g, func(ctx context.Context) error {
					return rondo.OffloadFunc(ctx, func(context.Context) error {
						return rondo.Run(derive(g), func(ctx context.Context) error {
							g.Cancel(nil)
							return forever(ctx)
						})
					})
				})
				if err != context.Canceled {
					t.Errorf("%s: the inner Run returned %v", name, err)
				}
				return nil
			})
		})
	}
}

// A lateContext is cancelled between the first time that it is asked and the second.
type lateContext struct {
	context.Context
	asked int
	done  chan struct{}
}

func (c *lateContext) Done() <-chan struct{} { return c.done }

func (c *lateContext) Err() error {
	if c.asked++; c.asked == 1 {
		return nil
	}
	return context.Canceled
}

// TestCancelledAsWaitBegins: a context that is cancelled after the wait has looked at it,
// and before the task is parked, ends the wait.
func TestCancelledAsWaitBegins(t *testing.T) {
	r := rondo.Runner{EndDeadlock: 50 * time.Millisecond}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		late := &lateContext{Context: ctx, done: make(chan struct{})}
		close(late.done)
		var never rondo.Event
		return never.Wait(late)
	})
	if err != context.Canceled {
		t.Errorf("the wait returned %v", err)
	}
}

// TestScopeAsContext: contexts that package context makes from a scope see its
// end, its error and its cause.
func TestScopeAsContext(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var kept context.Context
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			child, cancel := context.WithCancel(g)
			defer cancel()
			if g.Err() != nil || child.Err() != nil || context.Cause(g) != nil {
				t.Error("a scope that was not cancelled has an error")
			}
			g.Cancel(errBroken)
			<-child.Done()
			<-g.Done()
			if child.Err() != context.Canceled || context.Cause(child) != errBroken || context.Cause(g) != errBroken {
				t.Errorf("the child has %v, cause %v; the scope has the cause %v", child.Err(), context.Cause(child), context.Cause(g))
			}
			return nil
		})
		_ = rondo.Timeout(ctx, time.Nanosecond, func(s context.Context) error {
			child, cancel := context.WithCancel(s)
			defer cancel()
			_ = forever(s)
			<-child.Done()
			if child.Err() != context.DeadlineExceeded || s.Err() != context.DeadlineExceeded {
				t.Errorf("after a Timeout the child has %v, the scope %v", child.Err(), s.Err())
			}
			return nil
		})
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
		if kept.Err() != context.Canceled {
			t.Errorf("a scope that has ended has the error %v", kept.Err())
		}
		<-kept.Done()
		stop := context.AfterFunc(ctx, func() {})
		if !stop() {
			t.Error("the function of context.AfterFunc ran, but the scope is not cancelled")
		}
		return rondo.Shield(ctx, func(s context.Context) error {
			if _, ok := s.Deadline(); ok || s.Err() != nil {
				t.Error("a Shield has a deadline or an error")
			}
			return nil
		})
	})
}

// TestDeadlineOfScope: the deadline of a scope is its own or an earlier one above it, which may be
// that of a context of the standard library; a Shield has none but its own.
func TestDeadlineOfScope(t *testing.T) {
	type wrap func(ctx context.Context, body func(ctx context.Context) error) error
	hours := func(d time.Duration) wrap {
		return func(ctx context.Context, body func(ctx context.Context) error) error {
			return rondo.Timeout(ctx, d*time.Hour, body)
		}
	}
	group := func(ctx context.Context, body func(ctx context.Context) error) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error { return body(g) })
	}
	standard := func(ctx context.Context, body func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Hour)
		defer cancel()
		return group(ctx, body)
	}
	for _, c := range []struct {
		name  string
		wraps []wrap // the outermost first
		want  time.Duration
	}{
		{"no deadline", []wrap{group}, 0},
		{"one", []wrap{hours(3)}, 3},
		{"an earlier one above", []wrap{hours(1), hours(3)}, 1},
		{"a later one above", []wrap{hours(3), hours(1)}, 1},
		{"one far above", []wrap{hours(3), group, group}, 3},
		{"a Shield", []wrap{hours(3), rondo.Shield}, 0},
		{"below a Shield", []wrap{hours(1), rondo.Shield, hours(3)}, 3},
		{"an earlier one of the standard library", []wrap{standard, hours(3)}, 2},
		{"a later one of the standard library", []wrap{standard, hours(1)}, 1},
	} {
		run(t, func(ctx context.Context) error {
			started := time.Now()
			body := func(ctx context.Context) error {
				var hours time.Duration
				at, ok := ctx.Deadline()
				if ok {
					hours = at.Sub(started).Round(time.Hour) / time.Hour
				}
				if hours != c.want || ok != (c.want != 0) {
					t.Errorf("%s: the deadline is in %d hours, %t; want %d", c.name, hours, ok, c.want)
				}
				return nil
			}
			for _, w := range slices.Backward(c.wraps) {
				inner := body
				body = func(ctx context.Context) error { return w(ctx, inner) }
			}
			return body(ctx)
		})
	}
}

// TestRefusedWaitCounts: a deadline that has passed counts as the error of Timeout if a wait was
// refused because of it, also one with a context that is derived from the scope.
func TestRefusedWaitCounts(t *testing.T) {
	for _, derived := range []bool{false, true} {
		exact.Test(t, func(ctx context.Context) {
			err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
				_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Minute) })
				if derived {
					ctx = context.WithValue(ctx, ctxKey("a"), 1)
				}
				_ = rondo.Sleep(ctx, 1)
				return nil
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("derived %t: Timeout returned %v", derived, err)
			}
		})
	}
}

// TestDeadlineThroughContext: a deadline counts as the error of Timeout also if what it ends is in
// a Group that was opened with a context of the standard library.
func TestDeadlineThroughContext(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			within, stop := context.WithCancel(ctx)
			defer stop()
			_ = rondo.Group(within, func(g *rondo.Scope) error { return forever(g) })
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Timeout returned %v", err)
		}
	})
}

// TestContextsFromManyGoroutines: goroutines use a scope as a context while the
// loop cancels it. The race detector checks the rest.
func TestContextsFromManyGoroutines(t *testing.T) {
	for range 20 {
		run(t, func(ctx context.Context) error {
			ended := make(chan error, 8)
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 8 {
					go func() {
						child, cancel := context.WithCancel(g)
						defer cancel()
						_, _ = g.Deadline()
						_ = g.Value(ctxKey("x"))
						if i%2 == 0 {
							_ = context.Cause(g)
							_ = g.Err()
						}
						<-child.Done()
						ended <- context.Cause(child)
					}()
				}
				if err := rondo.Yield(g); err != nil {
					return err
				}
				g.Cancel(errBroken)
				return nil
			})
			for range 8 {
				if cause := <-ended; cause != errBroken {
					t.Errorf("a goroutine saw the cause %v", cause)
				}
			}
			if err != errBroken {
				t.Errorf("Group returned %v", err)
			}
			return nil
		})
	}
}

// TestWithoutCancel: waits and scopes with the ctx of context.WithoutCancel are
// shielded from the scope that it comes from, whenever that is cancelled, and
// still ended by a context below it.
func TestWithoutCancel(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		for _, early := range []bool{true, false} {
			late := map[string]error{}
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				free := context.WithoutCancel(g)
				below, cancel := context.WithCancelCause(free)
				if early {
					g.Cancel(errStop)
				}
				calls := map[string]func() error{
					"Sleep": func() error { return rondo.Sleep(free, time.Second) },
					"below": func() error { return rondo.Sleep(below, time.Second) },
					"Group": func() error {
						return rondo.Group(free, func(g *rondo.Scope) error { return rondo.Sleep(g, time.Second) })
					},
					"task": func() error {
						f := rondo.Async(free, func(ctx context.Context) (int, error) { return 1, rondo.Sleep(ctx, time.Second) })
						_, err := f.Wait(free)
						return err
					},
				}
				for _, name := range slices.Sorted(maps.Keys(calls)) {
					rondo.Go(ctx, func(context.Context) error { late[name] = calls[name](); return nil })
				}
				_ = rondo.Sleep(ctx, time.Millisecond)
				g.Cancel(errStop)
				_ = rondo.Sleep(ctx, 2*time.Second)
				rondo.Go(ctx, func(context.Context) error { late["cancelled"] = rondo.Sleep(below, time.Hour); return nil })
				_ = rondo.Sleep(ctx, time.Second)
				cancel(errBroken)
				_ = rondo.Sleep(ctx, time.Second)
				return nil
			})
			for name, err := range late {
				if want := map[bool]error{true: errBroken}[name == "cancelled"]; err != want {
					t.Errorf("%s, early %v: returned %v, want %v", name, early, err, want)
				}
			}
			if len(late) != 5 {
				t.Errorf("early %v: of 5 waits %d have ended: %v", early, len(late), late)
			}
		}
	})
}

// TestCancelBelowWithoutCancel: a task that was started with the ctx of
// context.WithoutCancel, when it is cancelled, takes along what it has started.
func TestCancelBelowWithoutCancel(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var successor *rondo.Task
		task := rondo.Go(context.WithoutCancel(ctx), func(ctx context.Context) error {
			successor = rondo.Go(ctx, forever)
			return forever(ctx)
		})
		_ = rondo.Sleep(ctx, time.Second)
		task.Cancel(errStop)
		if err := rondo.Timeout(ctx, time.Second, successor.Wait); err != errStop {
			t.Errorf("the task that it has started ended with %v", err)
		}
	})
}

// TestCancelOnTheWayIntoAWait: a context of the standard library below a cancelled scope,
// from which context.WithoutCancel shields it, is cancelled by another goroutine while a
// wait begins, at whatever moment of that. The wait ends.
func TestCancelOnTheWayIntoAWait(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		for at := range 6 {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Cancel(errStop)
				below, cancel := context.WithCancelCause(context.WithoutCancel(g))
				asked := &cancelledWhenAsked{Context: below, left: at, cancel: func() { cancel(errBroken) }}
				later := rondo.LoopOf(ctx).CallLater(time.Second, asked.cancel)
				if err := new(rondo.Event).Wait(asked); err != errStop && err != errBroken {
					t.Errorf("after %d questions: the wait returned %v", at, err)
				}
				later.Cancel()
				return nil
			})
		}
	})
}

// cancelledWhenAsked is cancelled when Err has been called left times.
type cancelledWhenAsked struct {
	context.Context
	left   int
	cancel func()
}

func (c *cancelledWhenAsked) Err() error {
	if c.left--; c.left < 0 {
		c.cancel()
	}
	return c.Context.Err()
}

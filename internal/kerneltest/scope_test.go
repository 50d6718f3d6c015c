package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

var errBroken = errors.New("broken")

// forever waits until its scope is cancelled and returns why.
func forever(ctx context.Context) error {
	var never rondo.Event
	return never.Wait(ctx)
}

func TestGroupWaitsForItsTasks(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		done := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 5 {
				g.Go(func(ctx context.Context) error {
					defer func() { done++ }()
					return rondo.Sleep(ctx, time.Duration(i)*time.Second)
				})
			}
			return nil
		})
		if err != nil || done != 5 {
			t.Errorf("Group returned %v with %d of 5 tasks done", err, done)
		}
	})
}

// TestNoTaskOutlivesItsScope: also tasks that a task starts with its own ctx, at
// any depth, belong to the group around it.
func TestNoTaskOutlivesItsScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		live := 0
		var grow func(ctx context.Context, depth int)
		grow = func(ctx context.Context, depth int) {
			for range 2 {
				live++
				rondo.Go(ctx, func(ctx context.Context) error {
					defer func() { live-- }()
					if depth > 0 {
						grow(ctx, depth-1)
					}
					return rondo.Sleep(ctx, time.Duration(depth)*time.Second)
				})
			}
		}
		if err := rondo.Group(ctx, func(g *rondo.Scope) error { grow(g, 3); return nil }); err != nil {
			t.Error(err)
		}
		if live != 0 {
			t.Errorf("%d tasks outlived their scope", live)
		}
	})
}

func TestGroupFirstErrorCancelsTheRest(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var seen error
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				seen = forever(ctx)
				return fmt.Errorf("while waiting: %w", seen)
			})
			g.Go(func(ctx context.Context) error {
				_ = rondo.Sleep(ctx, time.Second)
				return errBroken
			})
			return forever(g)
		})
		if err != errBroken {
			t.Errorf("Group returned %v, want just the first error", err)
		}
		if seen != errBroken {
			t.Errorf("the other task's wait ended with %v, want the cause", seen)
		}
	})
}

func TestGroupJoinsErrorsInOrder(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					if err := rondo.Sleep(ctx, time.Duration(i+1)*time.Second); err == nil {
						return errBroken
					}
					return fmt.Errorf("clean-up %d failed", i)
				})
			}
			return nil
		})
		text := fmt.Sprint(err)
		if !errors.Is(err, errBroken) || !strings.HasPrefix(text, "broken\nclean-up") ||
			!strings.Contains(text, "clean-up 1") || !strings.Contains(text, "clean-up 2") {
			t.Errorf("Group returned %q", text)
		}
	})
}

// TestCancellationIsALevel: a cancelled scope fails each further wait, and
// functions that could go on without waiting too.
func TestCancellationIsALevel(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			var m rondo.Mutex
			var set rondo.Event
			set.Set()
			q := rondo.NewQueue[int](0)
			q.TryPut(1)
			for name, wait := range map[string]func() error{
				"Yield":      func() error { return rondo.Yield(g) },
				"Sleep":      func() error { return rondo.Sleep(g, time.Hour) },
				"Sleep 0":    func() error { return rondo.Sleep(g, 0) },
				"Mutex.Lock": func() error { return m.Lock(g) },
				"Event.Wait": func() error { return set.Wait(g) },
				"Queue.Get":  func() error { _, err := q.Get(g); return err },
				"Queue.Put":  func() error { return q.Put(g, 1) },
				"Group":      func() error { return rondo.Group(g, func(*rondo.Scope) error { panic("ran") }) },
				"Timeout":    func() error { return rondo.Timeout(g, 1, func(context.Context) error { panic("ran") }) },
				"Offload": func() error {
					_, err := rondo.Offload(g, func(context.Context) (int, error) { panic("ran") })
					return err
				},
				"Check":       func() error { return rondo.Check(g) },
				"std context": func() error { return rondo.Yield(context.WithValue(g, ctxKey("k"), "v")) },
			} {
				if err := wait(); err != errBroken {
					t.Errorf("%s in a cancelled scope returned %v, want the cause", name, err)
				}
			}
			if !m.TryLock() || q.Len() != 1 {
				t.Error("a function that failed with the cause has done something")
			}
			if g.Err() != context.Canceled || context.Cause(g) != errBroken {
				t.Errorf("Err %v, Cause %v", g.Err(), context.Cause(g))
			}
			return nil
		})
		if err != errBroken {
			t.Errorf("Group returned %v", err)
		}
	})
}

func TestCancelNilEndsGroupWithoutError(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(forever)
			g.Go(func(context.Context) error { g.Cancel(nil); return nil })
			return forever(g)
		})
		if err != nil {
			t.Errorf("Group returned %v", err)
		}
	})
}

func TestOuterCancellationComesThrough(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var inner error
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				inner = rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(forever); return nil })
				return inner
			})
			_ = rondo.Sleep(g, time.Second)
			return errBroken
		})
		if err != errBroken || inner != errBroken {
			t.Errorf("outer Group returned %v, inner %v", err, inner)
		}
	})
}

func TestTimeout(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Timeout(ctx, time.Minute, forever)
		if err != context.DeadlineExceeded || rondo.Now(ctx).Sub(start) != time.Minute {
			t.Errorf("Timeout returned %v after %v", err, rondo.Now(ctx).Sub(start))
		}
		if err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) }); err != nil {
			t.Errorf("a body in time: %v", err)
		}
		if err := rondo.Check(ctx); err != nil {
			t.Errorf("the scope around an expired one is cancelled: %v", err)
		}
		// A body that ends well in spite of the deadline keeps its result.
		if err := rondo.Timeout(ctx, -1, func(ctx context.Context) error { return nil }); err != nil {
			t.Errorf("a body that waited for nothing: %v", err)
		}
		err = rondo.Timeout(ctx, -1, func(ctx context.Context) error { return rondo.Yield(ctx) })
		if err != context.DeadlineExceeded {
			t.Errorf("a deadline that has passed: %v", err)
		}
		// Its own failure beside the deadline is not hidden, nor does it hide.
		err = rondo.Timeout(ctx, 1, func(ctx context.Context) error { _ = forever(ctx); return errBroken })
		if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a body that failed after the deadline: %v", err)
		}
		err = rondo.Deadline(ctx, rondo.Now(ctx).Add(time.Second), forever)
		if err != context.DeadlineExceeded {
			t.Errorf("Deadline returned %v", err)
		}
	})
}

func TestNestedTimeouts(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		for _, c := range []struct{ outer, inner time.Duration }{{1, 2}, {2, 1}, {1, 1}} {
			var inner error
			outer := rondo.Timeout(ctx, c.outer*time.Second, func(ctx context.Context) error {
				inner = rondo.Timeout(ctx, c.inner*time.Second, forever)
				return rondo.Check(ctx)
			})
			if inner != context.DeadlineExceeded {
				t.Errorf("outer %v, inner %v: inner returned %v", c.outer, c.inner, inner)
			}
			want := error(nil)
			if c.outer < c.inner {
				want = context.DeadlineExceeded
			}
			if c.outer != c.inner && outer != want {
				t.Errorf("outer %v, inner %v: outer returned %v, want %v", c.outer, c.inner, outer, want)
			}
		}
	})
}

func TestSetDeadline(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetDeadline(start.Add(time.Second))
			g.SetDeadline(start.Add(time.Hour))
			if at, ok := g.Deadline(); !ok || !at.Equal(start.Add(time.Hour)) {
				t.Errorf("Deadline() = %v, %v", at, ok)
			}
			if err := rondo.Sleep(g, time.Minute); err != nil {
				t.Errorf("the deadline that was moved struck: %v", err)
			}
			g.SetDeadline(time.Time{})
			if _, ok := g.Deadline(); ok {
				t.Error("the deadline that was taken away is still there")
			}
			if err := rondo.Sleep(g, 2*time.Hour); err != nil {
				t.Errorf("the deadline that was taken away struck: %v", err)
			}
			g.SetDeadline(start)
			return rondo.Check(g)
		})
		if err != context.DeadlineExceeded {
			t.Errorf("Group returned %v", err)
		}
	})
}

func TestShield(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cleaned := false
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			defer func() {
				err := rondo.Shield(ctx, func(ctx context.Context) error {
					if ctx.Err() != nil {
						t.Errorf("a shielded ctx is cancelled: %v", ctx.Err())
					}
					if err := rondo.Sleep(ctx, time.Minute); err != nil {
						return err
					}
					cleaned = true
					return nil
				})
				if err != nil || rondo.Check(ctx) == nil {
					t.Errorf("Shield returned %v, and after it Check %v", err, rondo.Check(ctx))
				}
			}()
			return forever(ctx)
		})
		if err != context.DeadlineExceeded || !cleaned {
			t.Errorf("Timeout returned %v, cleaned %v", err, cleaned)
		}
		// A cancellation that comes while a Shield goes on does not reach it, nor
		// what is below it.
		cleaned = false
		err = rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error {
						err := rondo.Sleep(ctx, time.Minute)
						cleaned = err == nil
						return err
					})
					return rondo.Sleep(ctx, time.Minute)
				})
			})
		})
		if err != nil || !cleaned {
			t.Errorf("a Shield that was on when the deadline struck returned %v, cleaned %v", err, cleaned)
		}
		// A scope inside a Shield can be cancelled by itself.
		err = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Timeout(ctx, time.Second, forever) })
		if err != context.DeadlineExceeded {
			t.Errorf("a Timeout in a Shield returned %v", err)
		}
	})
}

func TestStart(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			ready := false
			err := g.Start(g, func(ctx context.Context, started func()) error {
				if err := rondo.Sleep(ctx, time.Second); err != nil {
					return err
				}
				ready = true
				started()
				return forever(ctx)
			})
			if err != nil || !ready {
				t.Errorf("Start returned %v, ready %v", err, ready)
			}
			err = rondo.Timeout(g, time.Second, func(ctx context.Context) error {
				return g.Start(ctx, func(ctx context.Context, started func()) error { return forever(ctx) })
			})
			if err != context.DeadlineExceeded {
				t.Errorf("Start that was cancelled returned %v", err)
			}
			g.Cancel(nil)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			return g.Start(g, func(ctx context.Context, started func()) error { return errBroken })
		})
		if err != errBroken {
			t.Errorf("Start of a task that failed at once: %v", err)
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			return g.Start(g, func(ctx context.Context, started func()) error { return nil })
		})
		if err == nil || !strings.Contains(err.Error(), "without calling started") {
			t.Errorf("Start of a task that ended at once: %v", err)
		}
		// What fails before it has started is the starter's affair alone.
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				err := g.Start(g, func(ctx context.Context, started func()) error { _ = rondo.Yield(ctx); return errBroken })
				if err != errBroken {
					t.Errorf("Start of a task that failed: %v", err)
				}
			}
			return rondo.Check(g)
		})
		if err != nil {
			t.Errorf("the scope of three tasks that failed to start returned %v", err)
		}
		// What fails afterwards is the scope's.
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := g.Start(g, func(ctx context.Context, started func()) error { started(); return errBroken }); err != nil {
				t.Errorf("Start of a task that failed afterwards: %v", err)
			}
			return nil
		})
		if err != errBroken {
			t.Errorf("a scope whose task failed after its start returned %v", err)
		}
	})
}

// TestPanicInBodyEndsTheTasksFirst: a panic leaves a scope only when its tasks
// have ended.
func TestPanicInBodyEndsTheTasksFirst(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ended := false
		func() {
			defer func() {
				if v := recover(); v != "oops" || !ended {
					t.Errorf("recovered %v, child ended: %v", v, ended)
				}
			}()
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					defer func() { ended = true }()
					return forever(ctx)
				})
				if err := rondo.Yield(g); err != nil {
					return err
				}
				panic("oops")
			})
		}()
		if err := rondo.Yield(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestTieKeepsTheValue: in every order of a wake-up, a cancellation and a
// deadline, a wait that was satisfied first returns its value, and no wake-up is
// spent on a task that was cancelled first.
func TestTieKeepsTheValue(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](0)
		got, put := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			getter := g.Go(func(ctx context.Context) error {
				if _, err := q.Get(ctx); err != nil {
					return err
				}
				got++
				return nil
			})
			g.Go(func(ctx context.Context) error { getter.Cancel(nil); return nil })
			g.Go(func(ctx context.Context) error { put++; return q.Put(ctx, 1) })
			return nil
		})
		if err != nil || got+q.Len() != put {
			t.Errorf("Group returned %v; %d put, %d got, %d left", err, put, got, q.Len())
		}
	})
}

// TestWaitUnderAnothersScope: tasks that wait with the group's ctx instead of
// their own are reached by its cancellation, whoever has stopped waiting before.
func TestWaitUnderAnothersScope(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ended := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 20 {
				g.Go(func(context.Context) error {
					if i%3 == 0 {
						return rondo.Sleep(g, time.Duration(i)*time.Millisecond)
					}
					if err := forever(g); err != errBroken {
						t.Errorf("the wait of task %d ended with %v", i, err)
					}
					ended++
					return nil
				})
			}
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			g.Cancel(errBroken)
			return nil
		})
		if err != errBroken || ended != 13 {
			t.Errorf("Group returned %v, %d of 13 waits ended", err, ended)
		}
	})
}

// TestStartThatIsCancelledKeepsErrors: the clean-up of a task that was not yet
// started may fail, and Start tells.
func TestStartThatIsCancelledKeepsErrors(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			err := rondo.Timeout(g, time.Second, func(ctx context.Context) error {
				return g.Start(ctx, func(ctx context.Context, started func()) error {
					return errors.Join(forever(ctx), errBroken)
				})
			})
			if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Start returned %v", err)
			}
			return rondo.Check(g)
		})
		if err != nil {
			t.Errorf("Group returned %v", err)
		}
	})
}

// TestLateTaskIsWaitedFor: whoever holds a scope may start a task in it between
// the end of its last one and the moment at which its body goes on.
func TestLateTaskIsWaitedFor(t *testing.T) {
	late := 0
	sim.Explore(t, func(ctx context.Context) {
		var g *rondo.Scope
		started, ended := false, false
		rondo.Go(ctx, func(ctx context.Context) error {
			for g == nil {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			defer func() {
				if recover() == nil {
					late++
				}
			}()
			g.Go(func(ctx context.Context) error {
				started = true
				err := rondo.Yield(ctx)
				ended = true
				return err
			})
			return nil
		})
		err := rondo.Group(ctx, func(s *rondo.Scope) error {
			s.Go(func(context.Context) error { g = s; return nil })
			return nil
		})
		if err != nil || started != ended {
			t.Errorf("Group returned %v; late task started %v, ended %v", err, started, ended)
		}
	})
	if late == 0 {
		t.Error("in no order a task was started late")
	}
}

// TestEchoIsTakenOffWhatIsJoined: a cancelled task that reports the cause beside
// a failure of its clean-up is heard, whatever way it joins the two.
func TestEchoIsTakenOffWhatIsJoined(t *testing.T) {
	errStop := errors.New("stop")
	for name, c := range map[string]struct {
		with func(cause error) error
		want string
	}{
		"cause":       {func(cause error) error { return cause }, "stop"},
		"wrapped":     {func(cause error) error { return fmt.Errorf("reading: %w", cause) }, "stop"},
		"standard":    {func(error) error { return context.Canceled }, "stop"},
		"all echoes":  {func(cause error) error { return errors.Join(cause, fmt.Errorf("again: %w", cause)) }, "stop"},
		"joined":      {func(cause error) error { return errors.Join(cause, errBroken) }, "broken\nstop"},
		"deep":        {func(cause error) error { return errors.Join(errors.Join(errBroken, cause), cause) }, "broken\nstop"},
		"two":         {func(cause error) error { return errors.Join(errBroken, cause, errBroken) }, "broken\nbroken\nstop"},
		"in one text": {func(cause error) error { return fmt.Errorf("%w while %w", errBroken, cause) }, "broken while stop\nstop"},
		"around":      {func(cause error) error { return fmt.Errorf("late: %w", errors.Join(errBroken, cause)) }, "late: broken\nstop\nstop"},
	} {
		sim.Test(t, func(ctx context.Context) {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { return c.with(forever(ctx)) })
				_ = rondo.Yield(g)
				g.Cancel(errStop)
				return nil
			})
			if fmt.Sprint(err) != c.want {
				t.Errorf("%s: Group returned %q, want %q", name, fmt.Sprint(err), c.want)
			}
		})
	}
}

// TestCleanUpErrorsPassNestedGroups: the failure of a clean-up in an inner group
// reaches the outer one that was cancelled.
func TestCleanUpErrorsPassNestedGroups(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		errFirst := errors.New("first")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for range 3 {
						g.Go(func(ctx context.Context) error { _ = forever(ctx); return errBroken })
					}
					return forever(g)
				})
			})
			_ = rondo.Sleep(g, time.Second)
			return errFirst
		})
		if got, want := fmt.Sprint(err), "first\nbroken\nbroken\nbroken"; got != want {
			t.Errorf("the outer Group returned %q, want %q", got, want)
		}
	})
}

// TestPanicIsNoEcho: a task that panics with the error of its cancelled wait has
// a fault of its own.
func TestPanicIsNoEcho(t *testing.T) {
	err := (&rondo.Runner{Recover: true}).Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error { panic(forever(ctx)) })
			}
			_ = rondo.Yield(g)
			return errBroken
		})
	})
	if n := strings.Count(fmt.Sprint(err), "rondo: panic in"); n != 2 || !errors.Is(err, errBroken) {
		t.Errorf("%d of 2 panics were heard of: %v", n, err)
	}
}

// TestPanicOfBodyLosesNoErrors: what the tasks of a scope failed with goes to
// the scope around it if the panic of its body leaves nothing to return, and to
// OnError if there is none around.
func TestPanicOfBodyLosesNoErrors(t *testing.T) {
	panics := func(ctx context.Context) {
		defer func() {
			if v := recover(); v != "oops" {
				t.Errorf("recovered %v", v)
			}
		}()
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error { return errBroken })
			_ = rondo.Yield(g)
			panic("oops")
		})
	}
	var unheard error
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { unheard = err }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error { panics(g); return nil })
		if err != errBroken || unheard != nil {
			t.Errorf("the group around it returned %v, OnError got %v", err, unheard)
		}
		panics(ctx)
		return nil
	})
	if err != nil || unheard != errBroken {
		t.Errorf("Run returned %v, OnError got %v", err, unheard)
	}
}

// TestOuterDeadlineWinsTheTie: in every order of the two timers.
func TestOuterDeadlineWinsTheTie(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		at := rondo.Now(ctx).Add(time.Second)
		var inner error
		outer := rondo.Deadline(ctx, at, func(ctx context.Context) error {
			inner = rondo.Deadline(ctx, at, forever)
			return rondo.Check(ctx)
		})
		if inner != context.DeadlineExceeded || outer != context.DeadlineExceeded {
			t.Errorf("inner returned %v, outer %v", inner, outer)
		}
		// A Shield between the two parts them.
		at = at.Add(time.Second)
		outer = rondo.Deadline(ctx, at, func(ctx context.Context) error {
			err := rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Deadline(ctx, at, forever) })
			if err != context.DeadlineExceeded {
				t.Errorf("behind the Shield: %v", err)
			}
			return nil
		})
		if outer != nil {
			t.Errorf("around the Shield: %v", outer)
		}
	})
}

// TestSetDeadlineTooLate: neither a cancelled scope nor one that has ended has a
// deadline to move.
func TestSetDeadlineTooLate(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var kept *rondo.Scope
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			kept = g
			g.Cancel(errBroken)
			g.SetDeadline(rondo.Now(ctx))
			g.SetDeadline(rondo.Now(ctx).Add(time.Hour))
			return rondo.Check(g)
		})
		if err != errBroken {
			t.Errorf("Group returned %v", err)
		}
		kept.SetDeadline(rondo.Now(ctx).Add(time.Hour))
		if n := rondo.LoopOf(ctx).Stats().Timers; n != 0 {
			t.Errorf("%d timers are left", n)
		}
	})
}

// TestOuterDeadlineThatIsDue: a scope that is opened when its deadline, and that
// of the scope around it, have passed ends the outer one, although the loop has
// not come to its timer.
func TestOuterDeadlineThatIsDue(t *testing.T) {
	run(t, func(ctx context.Context) error {
		at := rondo.Now(ctx).Add(time.Millisecond)
		_ = rondo.Deadline(ctx, at, func(ctx context.Context) error {
			for !rondo.Now(ctx).After(at) {
				continue // keeps the loop from its timers
			}
			_ = rondo.Deadline(ctx, at, func(context.Context) error { return nil })
			if rondo.Check(ctx) == nil {
				t.Error("the inner scope has ended alone")
			}
			return nil
		})
		return nil
	})
}

// TestStartPanicsWithPulls: Start tells of a panic also if the task has a Pull,
// whose clean-up takes a while, to end first.
func TestStartPanicsWithPulls(t *testing.T) {
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		var told error
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			told = g.Start(ctx, func(ctx context.Context, started func()) error {
				next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
					yield(1)
					_ = lingering(ctx)
				})
				next()
				panic("oops")
			})
			return nil
		})
		var p *rondo.PanicError
		if !errors.As(told, &p) || !errors.Is(err, told) {
			t.Errorf("Start returned %v, the group %v", told, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

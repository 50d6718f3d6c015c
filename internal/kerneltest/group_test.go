package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
)

// TestSiblingsAddedWhileTheScopeEnds: a task that is started in a cancelled group
// is cancelled from the start. It is waited for, and its error is kept.
func TestSiblingsAddedWhileTheScopeEnds(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		errLate := errors.New("late")
		started, ended := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				_ = forever(ctx)
				started++
				g.Go(func(ctx context.Context) error {
					defer func() { ended++ }()
					if err := rondo.Yield(ctx); err != errBroken {
						t.Errorf("a wait of the late task returned %v", err)
					}
					return errLate
				})
				return nil
			})
			g.Go(func(context.Context) error { return errBroken })
			return nil
		})
		if got := fmt.Sprint(err); got != "broken\nlate" || started != 1 || ended != 1 {
			t.Errorf("Group returned %q; %d late tasks started, %d ended", got, started, ended)
		}
	})
}

// TestNoTaskOutlivesItsScope: tasks that a task starts with its own ctx, at any
// depth, have ended when the group around it returns.
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

// TestLateTaskIsWaitedFor: a task that is started after the last task of a group
// has ended, but before the group returns, is waited for.
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
			t.Errorf("Group returned %v; the late task has started: %v, ended: %v", err, started, ended)
		}
	})
	if late == 0 {
		t.Error("in no order was a task started late")
	}
}

// TestSetLimit: of many tasks two run at once, in the order of their starts, and the
// last waits for its turn also after a cancellation.
func TestSetLimit(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start, running, most := rondo.Now(ctx), 0, 0
		var order []int
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(2)
			for i := range 5 {
				g.Go(func(ctx context.Context) error {
					order = append(order, i)
					running++
					defer func() { running-- }()
					most = max(most, running)
					return rondo.Sleep(ctx, time.Second)
				})
			}
			return nil
		})
		if took := rondo.Now(ctx).Sub(start); err != nil || most != 2 || took != 3*time.Second || len(order) != 5 {
			t.Errorf("Group returned %v after %v; %d ran at once, %v began", err, took, most, order)
		}
		began := 0
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(1)
			for i := range 3 {
				rondo.Go(g, func(ctx context.Context) error {
					began++
					if i == 0 {
						return errBroken
					}
					return rondo.Sleep(ctx, time.Hour)
				})
			}
			return nil
		})
		if err != errBroken || began != 3 {
			t.Errorf("Group returned %v; %d tasks began, want all 3", err, began)
		}
	})
}

// TestExemptFromLimit: the limit of a scope neither holds back nor counts a task that works for
// others, if a task of the scope has started it, or one below such a task; or always, if that is
// asked for. It holds for the other tasks as ever.
func TestExemptFromLimit(t *testing.T) {
	for _, c := range []struct {
		by     string // who starts it, while task 1 runs
		always bool
		limit  int
		late   bool     // the tasks 2 and 3 are started after it
		want   []string // what runs: at first, and after the end of 1, of the exempt task x, and of 2
	}{
		{"1", false, 1, false, []string{"1x", "2x", "2", "3"}},
		{"1", false, 1, true, []string{"1x", "2x", "2", "3"}},
		{"1", false, 2, false, []string{"12x", "23x", "23", "3"}},
		{"1", false, 2, true, []string{"12x", "23x", "23", "3"}},
		{"below 1", false, 1, false, []string{"1x", "2x", "2", "3"}},
		{"main", false, 1, false, []string{"1", "2", "2", "3"}},
		{"main", false, 1, true, []string{"1", "x", "2", "3"}},
		{"main", true, 1, false, []string{"1x", "2x", "2", "3"}},
	} {
		exact.Test(t, func(ctx context.Context) {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.SetLimit(c.limit)
				ends, running := make(map[string]*rondo.Event), make(map[string]bool)
				start := func(name string, first func(ctx context.Context) error) *rondo.Task {
					ends[name] = new(rondo.Event)
					return g.Go(func(ctx context.Context) error {
						running[name] = true
						defer delete(running, name)
						return errors.Join(first(ctx), ends[name].Wait(ctx))
					})
				}
				exempt := func(context.Context) error {
					kernel.Of(g).SetExempt(start("x", nothing), c.always)
					return nil
				}
				first := nothing
				switch c.by {
				case "1":
					first = exempt
				case "below 1":
					first = func(ctx context.Context) error {
						return rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(exempt); return nil })
					}
				}
				others := func() { start("2", nothing); start("3", nothing) }
				if start("1", first); !c.late {
					others()
				}
				_ = rondo.Sleep(g, 1)
				if c.by == "main" {
					_ = exempt(g)
				}
				if c.late {
					_ = rondo.Sleep(g, 1)
					if want := c.want[0] != "1"; running["x"] != want {
						t.Errorf("started by %s, always %v, limit %d: it runs, alone in the line: %v", c.by, c.always, c.limit, running["x"])
					}
					others()
				}
				for i, end := range []string{"", "1", "x", "2"} {
					if end != "" {
						ends[end].Set()
					}
					_ = rondo.Sleep(g, 1)
					if got := strings.Join(slices.Sorted(maps.Keys(running)), ""); got != c.want[i] {
						t.Errorf("started by %s, always %v, limit %d, late %v: after the end of %q these run: %s, want %s",
							c.by, c.always, c.limit, c.late, end, got, c.want[i])
					}
				}
				ends["3"].Set()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSetLimitLater: the limit may change, and Pull and Start do not hang under it.
func TestSetLimitLater(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		running, most := 0, 0
		count := func(ctx context.Context) error {
			running++
			most = max(most, running)
			err := rondo.Sleep(ctx, time.Second)
			running--
			return err
		}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(1)
			for range 6 {
				g.Go(count)
			}
			next, stop := rondo.Pull(g, func(yield func(int) bool) { _ = rondo.Sleep(g, 1); yield(7) })
			if v, ok := next(); v != 7 || !ok {
				t.Errorf("next returned %d, %v", v, ok)
			}
			stop()
			_ = rondo.Sleep(g, 500*time.Millisecond)
			g.SetLimit(3)
			_ = rondo.Sleep(g, 100*time.Millisecond)
			if running != 3 {
				t.Errorf("%d tasks run, want 3", running)
			}
			g.SetLimit(0)
			return g.Start(g, func(_ context.Context, started func()) error { started(); return nil })
		})
		if err != nil || most != 6 {
			t.Errorf("Group returned %v; %d tasks ran at once", err, most)
		}
		panics(t, "rondo: Scope.SetLimit with a negative limit", func() { _ = rondo.Group(ctx, func(g *rondo.Scope) error { g.SetLimit(-1); return nil }) })
		panics(t, "rondo: Scope.SetLimit of a task's own scope", func() { ctx.(*rondo.Scope).SetLimit(1) })
	})
}

// TestCancelOfTaskWithChildren: Task.Cancel also cancels what was started with the task's ctx. If
// that ends with the cause, it is no failure of the scope that owns it, and a wait for it returns
// the cause. An error that says more is a failure.
func TestCancelOfTaskWithChildren(t *testing.T) {
	for _, cause := range []error{context.Canceled, errStop} {
		for name, c := range map[string]struct {
			child func(ctx context.Context) error
			want  string
		}{
			"waits":       {forever, "<nil>"},
			"has a child": {func(ctx context.Context) error { rondo.Go(ctx, forever); return forever(ctx) }, "<nil>"},
			"has a Group": {groupThatIsCancelled, "<nil>"},
			"says more":   {func(ctx context.Context) error { return fmt.Errorf("flush: %w", forever(ctx)) }, "flush: " + cause.Error()},
		} {
			exact.Test(t, func(ctx context.Context) {
				var child *rondo.Task
				parent := func(ctx context.Context) error {
					child = rondo.Go(ctx, c.child)
					return forever(ctx)
				}
				err := rondo.Group(ctx, func(g *rondo.Scope) error {
					task := g.Go(parent)
					_ = rondo.Sleep(g, time.Second)
					task.Cancel(cause)
					if err := rondo.Shield(g, child.Wait); !errors.Is(err, cause) {
						t.Errorf("%s: the child ended with %v", name, err)
					}
					return nil
				})
				if fmt.Sprint(err) != c.want {
					t.Errorf("%s: Group returned %v, want %s", name, err, c.want)
				}
				if c.want == "<nil>" {
					task := rondo.Go(ctx, parent)
					_ = rondo.Sleep(ctx, time.Second)
					task.Cancel(cause)
					_ = rondo.Sleep(ctx, 2*time.Hour) // an error that the root scope reports fails the test
				}
			})
		}
	}
}

// groupThatIsCancelled runs a Group whose task returns the cause without a wait that was ended, and
// returns what Group does: the cause.
func groupThatIsCancelled(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
			return context.Cause(ctx)
		})
		return nil
	})
}

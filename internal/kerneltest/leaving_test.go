package kerneltest_test

// Leaving a scope is its cancellation for every wait in it. The test goes through all ways
// to leave a scope, all forms of a ctx that come from one, and all ways to wait with it in a
// task that the scope does not own.

import (
	"cmp"
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
)

// A mergedContext ends with either of two contexts, as those that libraries make do.
type mergedContext struct {
	context.Context
	other context.Context
}

func (c mergedContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.other.Value(key)
}

// A namedContext is a program's own type around a ctx.
type namedContext struct{ context.Context }

func (namedContext) String() string { return "named" }

// forms are the forms of a ctx that come from another. kept says that the wait outlives it.
var forms = map[string]struct {
	make func(ctx context.Context) (context.Context, context.CancelFunc)
	kept bool
}{
	"itself":     {make: func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }},
	"WithValue":  {make: plain(func(ctx context.Context) context.Context { return context.WithValue(ctx, ctxKey("k"), "v") })},
	"WithCancel": {make: context.WithCancel},
	"WithTimeout": {make: func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, 24*time.Hour)
	}},
	"WithoutCancel": {make: plain(context.WithoutCancel), kept: true},
	"WithCancel of WithValue": {make: func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithCancel(context.WithValue(ctx, ctxKey("k"), "v"))
	}},
	"WithCancel of WithoutCancel": {kept: true, make: func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithCancel(context.WithoutCancel(ctx))
	}},
	"merged": {make: plain(func(ctx context.Context) context.Context { return mergedContext{ctx, context.Background()} })},
	"custom": {make: plain(func(ctx context.Context) context.Context { return namedContext{ctx} })},
}

func plain(fn func(context.Context) context.Context) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return fn(ctx), func() {} }
}

// hour sleeps for an hour with a ctx of its own.
func hour(ctx context.Context) *rondo.Task {
	return rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
}

// waits are the ways to wait for an hour with ctx. own is the ctx of the task that waits.
var waits = map[string]func(own, ctx context.Context) error{
	"Sleep": func(_, ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) },
	"Event": func(own, ctx context.Context) error {
		var e rondo.Event
		rondo.Go(own, func(ctx context.Context) error { defer e.Set(); return rondo.Sleep(ctx, time.Hour) })
		return e.Wait(ctx)
	},
	"Queue": func(own, ctx context.Context) error {
		q := rondo.NewQueue[int](1)
		rondo.Go(own, func(ctx context.Context) error { defer q.TryPut(1); return rondo.Sleep(ctx, time.Hour) })
		_, err := q.Get(ctx)
		return err
	},
	"Mutex": func(own, ctx context.Context) error {
		var m rondo.Mutex
		m.TryLock()
		rondo.Go(own, func(ctx context.Context) error { defer m.Unlock(); return rondo.Sleep(ctx, time.Hour) })
		return m.Lock(ctx)
	},
	"Task.Wait": func(own, ctx context.Context) error { return hour(own).Wait(ctx) },
	"WaitAny":   func(own, ctx context.Context) error { _, err := rondo.WaitAny(ctx, hour(own)); return err },
	"Future": func(own, ctx context.Context) error {
		_, err := rondo.Async(own, func(ctx context.Context) (int, error) { return 1, rondo.Sleep(ctx, time.Hour) }).Wait(ctx)
		return err
	},
	"Select": func(own, ctx context.Context) error {
		_, err := rondo.Select(ctx, hour(own).WaitCase(), rondo.After(2*time.Hour))
		return err
	},
	"Every": func(_, ctx context.Context) error {
		for range rondo.Every(ctx, time.Hour) {
			return nil
		}
		return context.Canceled // a range ends without an error
	},
	"Group": func(_, ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error { return rondo.Sleep(g, time.Hour) })
	},
	"a task of a Group": func(_, ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
			return nil
		})
	},
	"Timeout": func(_, ctx context.Context) error {
		return rondo.Timeout(ctx, 24*time.Hour, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
	},
	"two Groups": func(_, ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			return rondo.Group(g, func(g *rondo.Scope) error { return rondo.Sleep(g, time.Hour) })
		})
	},
	"Gather": func(_, ctx context.Context) error {
		_, err := rondo.Gather(ctx, func(ctx context.Context) (int, error) { return 1, rondo.Sleep(ctx, time.Hour) })
		return err
	},
	"the body of a Pull": func(own, ctx context.Context) (err error) {
		next, stop := rondo.Pull(own, func(yield func(int) bool) {
			if err = rondo.Sleep(ctx, time.Hour); err == nil {
				yield(1)
			}
		})
		defer stop()
		next()
		return err
	},
}

// leavings are the ways in which a task leaves a scope a second after it has given it away.
var leavings = map[string]func(ctx context.Context, give func(context.Context)){
	"Group": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { give(g); return rondo.Sleep(g, time.Second) })
	},
	"Group that fails": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			give(g)
			_ = rondo.Sleep(g, time.Second)
			return errBroken
		})
	},
	"Group whose task fails": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			give(g)
			g.Go(func(ctx context.Context) error { _ = rondo.Sleep(ctx, time.Second); return errBroken })
			return nil
		})
	},
	"Group whose body panics": func(ctx context.Context, give func(context.Context)) {
		defer func() { _ = recover() }()
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { give(g); _ = rondo.Sleep(g, time.Second); panic("body") })
	},
	"Cancel": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			give(g)
			_ = rondo.Sleep(g, time.Second)
			g.Cancel(nil)
			return nil
		})
	},
	"Timeout": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error { give(ctx); return rondo.Sleep(ctx, time.Second) })
	},
	"Timeout that is over": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Timeout(ctx, time.Second, func(ctx context.Context) error { give(ctx); return rondo.Sleep(ctx, time.Minute) })
	},
	"Shield": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Shield(ctx, func(ctx context.Context) error { give(ctx); return rondo.Sleep(ctx, time.Second) })
	},
	"a task": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Go(ctx, func(ctx context.Context) error { give(ctx); return rondo.Sleep(ctx, time.Second) }).Wait(ctx)
	},
	"a task that fails": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Go(ctx, func(ctx context.Context) error { give(ctx); _ = rondo.Sleep(ctx, time.Second); return errBroken }).Wait(ctx)
	},
	"a task that is cancelled": func(ctx context.Context, give func(context.Context)) {
		t := rondo.Go(ctx, func(ctx context.Context) error { give(ctx); return rondo.Sleep(ctx, time.Minute) })
		_ = rondo.Sleep(ctx, time.Second)
		t.Cancel(nil)
		_ = t.Wait(ctx)
	},
	"Contain": func(ctx context.Context, give func(context.Context)) {
		_ = rondo.Contain(ctx, func(ctx context.Context) error { give(ctx); return rondo.Sleep(ctx, time.Second) })
	},
	"a handler": func(ctx context.Context, give func(context.Context)) {
		t := rondo.Go(ctx, func(ctx context.Context) error { give(ctx); return rondo.Sleep(ctx, time.Second) })
		kernel.Of(ctx).SetServing(t)
		_ = t.Wait(ctx)
	},
}

// TestLeavingCancels: whatever the form of the ctx, the way to wait and the way to leave, a
// wait of another task ends when the scope is left, and one behind WithoutCancel does not.
func TestLeavingCancels(t *testing.T) {
	for leaving, leave := range leavings {
		t.Run(leaving, func(t *testing.T) {
			exact.Test(t, func(ctx context.Context) {
				start := rondo.Now(ctx)
				var all []*rondo.Task
				leave(ctx, func(left context.Context) {
					for _, form := range slices.Sorted(maps.Keys(forms)) {
						for _, way := range slices.Sorted(maps.Keys(waits)) {
							f, wait := forms[form], waits[way]
							all = append(all, rondo.Go(ctx, func(own context.Context) error {
								used, cancel := f.make(left)
								defer cancel()
								err, at := wait(own, used), rondo.Now(own).Sub(start)
								switch {
								case f.kept && (err != nil || at != time.Hour):
									t.Errorf("%s, %s: the wait returned %v after %v, want nil after 1h", form, way, err, at)
								case !f.kept && (err == nil || at != time.Second):
									t.Errorf("%s, %s: the wait returned %v after %v, want an error after 1s", form, way, err, at)
								case !f.kept && used.Err() == nil:
									t.Errorf("%s, %s: Err of the ctx is nil", form, way)
								}
								return nil
							}))
						}
					}
				})
				for _, task := range all {
					_ = task.Wait(ctx)
				}
			})
		})
	}
}

// TestWaitCancelledEndsWithTheScope: WaitCanceled is to a task as <-ctx.Done() is to a
// goroutine, also on a real loop, and for a task that the scope does not own.
func TestWaitCancelledEndsWithTheScope(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for name, form := range forms {
			if form.kept {
				continue
			}
			var watcher *rondo.Task
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				watcher = rondo.Go(ctx, func(context.Context) error {
					ctx, cancel := form.make(g)
					defer cancel()
					return rondo.WaitCanceled(ctx)
				})
				return rondo.Yield(g)
			})
			if err := watcher.Wait(ctx); err != context.Canceled {
				t.Errorf("%s: WaitCanceled returned %v", name, err)
			}
		}
		return nil
	})
}

// handle runs fn as a server does a handler, and returns the error that would be reported.
func handle(ctx context.Context, fn func(ctx context.Context) error) (reported error) {
	loop := kernel.Of(ctx)
	task := rondo.Go(ctx, func(ctx context.Context) error {
		reported = loop.Task().Leave(fn(ctx))
		return nil
	})
	loop.SetServing(task)
	err := rondo.Shield(ctx, task.Wait)
	if err != nil {
		return fmt.Errorf("the task itself failed: %w", err)
	}
	return reported
}

// callers are the ways in which a function is called for someone else.
var callers = map[string]func(ctx context.Context, fn func(ctx context.Context) error) error{
	"handler": handle, "Contain": rondo.Contain,
}

// TestServing: what a handler starts with its ctx is the handler's. It ends with it, and
// its error is reported with the handler's own, once.
func TestServing(t *testing.T) {
	for name, call := range callers {
		t.Run(name, func(t *testing.T) { testServing(t, call) })
	}
}

func testServing(t *testing.T, call func(ctx context.Context, fn func(ctx context.Context) error) error) {
	helperErr := errors.New("helper")
	fail := func(context.Context) error { return helperErr }
	for name, c := range map[string]struct {
		handler func(ctx context.Context) error
		want    error
	}{
		"starts nothing": {func(context.Context) error { return errBroken }, errBroken},
		"a helper fails": {func(ctx context.Context) error { rondo.Go(ctx, fail); return rondo.Sleep(ctx, time.Hour) }, helperErr},
		"a helper fails at the end": {func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return helperErr })
			return nil
		}, helperErr},
		"both fail": {func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return helperErr })
			return errBroken
		}, errors.Join(errBroken, helperErr)},
		"a helper fails, then the handler": {func(ctx context.Context) error {
			rondo.Go(ctx, fail)
			_ = rondo.Sleep(ctx, time.Hour)
			return errBroken
		}, errors.Join(helperErr, errBroken)},
		"a helper fails, and the handler does not care": {func(ctx context.Context) error {
			rondo.Go(ctx, fail)
			_ = rondo.Sleep(ctx, time.Hour)
			return nil
		}, helperErr},
		"a helper is cancelled": {func(ctx context.Context) error { rondo.Go(ctx, rondo.WaitCanceled); return nil }, nil},
		"a helper of a helper fails": {func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error { rondo.Go(ctx, fail); return nil })
			return rondo.Sleep(ctx, time.Hour)
		}, helperErr},
		"one waits for the helper's error": {func(ctx context.Context) error {
			if err := rondo.Go(ctx, fail).Wait(ctx); err != helperErr {
				return fmt.Errorf("Wait returned %w", err)
			}
			return rondo.Sleep(ctx, time.Second)
		}, nil},
		"one waits for the Future": {func(ctx context.Context) error {
			_, err := rondo.Async(ctx, func(ctx context.Context) (int, error) { return 0, fail(ctx) }).Wait(ctx)
			if err != helperErr {
				return fmt.Errorf("Wait returned %w", err)
			}
			return rondo.Sleep(ctx, time.Second)
		}, nil},
		"a helper behind a Shield": {func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Minute) })
			})
			return nil
		}, nil},
		"a Pull is left half-way": {func(ctx context.Context) error {
			next, _ := rondo.Pull(ctx, func(yield func(int) bool) { yield(1); _ = rondo.Sleep(ctx, time.Hour) })
			next()
			return nil
		}, nil},
		"a limit": {func(ctx context.Context) error {
			ctx.(*rondo.Scope).SetLimit(1)
			for range 3 {
				rondo.Go(ctx, rondo.WaitCanceled)
			}
			return rondo.Sleep(ctx, time.Second)
		}, nil},
		"Start": {func(ctx context.Context) error {
			return ctx.(*rondo.Scope).Start(ctx, func(ctx context.Context, started func()) error { started(); return rondo.WaitCanceled(ctx) })
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			exact.Test(t, func(ctx context.Context) {
				if err := call(ctx, c.handler); fmt.Sprint(err) != fmt.Sprint(c.want) {
					t.Errorf("reported %v, want %v", err, c.want)
				}
				if n := len(rondo.Tasks(ctx)); n != 1 {
					t.Errorf("%d tasks are left", n-1)
				}
				if err := rondo.Check(ctx); err != nil {
					t.Errorf("the scope around it was cancelled: %v", err)
				}
			})
		})
	}
}

// TestServingCancelled: a handler that is cancelled with its server, on purpose or because another
// task of it has failed, reports that, also if it has a helper. If a helper has more to say,
// Contain reports both, as Group does, and a handler that alone.
func TestServingCancelled(t *testing.T) {
	helperErr := errors.New("helper")
	for name, c := range map[string]struct {
		help             func(ctx context.Context) error // nil: there is no helper
		handler, contain error
	}{
		"alone":              {nil, errStop, errStop},
		"a helper ends":      {func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return nil }, errStop, errStop},
		"a helper says so":   {rondo.WaitCanceled, errStop, errStop},
		"a helper cleans up": {lingering, errStop, errStop},
		"a helper fails": {func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return helperErr },
			helperErr, errors.Join(helperErr, errStop)},
	} {
		for way, want := range map[string]error{"handler": c.handler, "Contain": c.contain, "handler, failed": c.handler, "Contain, failed": c.contain} {
			way, failed := strings.CutSuffix(way, ", failed")
			exact.Test(t, func(ctx context.Context) {
				_ = rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error {
						err := callers[way](ctx, func(ctx context.Context) error {
							if c.help != nil {
								rondo.Go(ctx, c.help)
							}
							return rondo.Sleep(ctx, time.Hour)
						})
						if fmt.Sprint(err) != fmt.Sprint(want) {
							t.Errorf("%s, %s, failed: %v: reported %v, want %v", way, name, failed, err, want)
						}
						return nil
					})
					if err := rondo.Sleep(g, time.Second); err != nil || failed {
						return cmp.Or(err, errStop)
					}
					g.Cancel(errStop)
					return nil
				})
			})
		}
	}
}

// TestServingEnded: a task that is started with the ctx of a handler that has returned is
// cancelled, and no failure of the server.
func TestServingEnded(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		for _, name := range slices.Sorted(maps.Keys(callers)) {
			call := callers[name]
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				var late context.Context
				_ = call(g, func(ctx context.Context) error { late = ctx; return nil })
				err := rondo.Go(late, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) }).Wait(g)
				if err != context.Canceled {
					t.Errorf("%s: the late task ended with %v", name, err)
				}
				return rondo.Sleep(g, time.Second)
			})
			if err != nil {
				t.Errorf("%s: the server failed: %v", name, err)
			}
		}
	})
}

// TestServingEndedIsReported: the error of such a task goes to OnError, also if the handler has
// left tasks that were cancelled with its ctx.
func TestServingEndedIsReported(t *testing.T) {
	for name, call := range callers {
		var reported []error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = append(reported, err) }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			var late context.Context
			err := call(ctx, func(ctx context.Context) error {
				late = ctx
				rondo.Go(ctx, forever)
				return nil
			})
			rondo.Go(late, forever)
			return err
		})
		if err != nil || len(reported) != 1 || reported[0] != context.Canceled {
			t.Errorf("%s: Run returned %v, OnError got %v", name, err, reported)
		}
	}
}

// TestServingPanic: on a real loop a panic of the function, or of a task below it, is an
// error of that call, whatever the Runner says.
func TestServingPanic(t *testing.T) {
	helper := func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error { panic("oh") })
				return nil
			})
		})
		return rondo.Sleep(ctx, time.Hour)
	}
	itself := func(context.Context) error { panic("oh") }
	for _, recovers := range []bool{false, true} {
		r := rondo.Runner{Recover: recovers}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			for name, err := range map[string]error{
				"handler's helper": handle(ctx, helper), "Contain's helper": rondo.Contain(ctx, helper), "Contain": rondo.Contain(ctx, itself),
			} {
				if e, ok := errors.AsType[*rondo.PanicError](err); !ok || e.Value != "oh" {
					t.Errorf("%s, Recover %v: reported %v", name, recovers, err)
				}
			}
			return rondo.Check(ctx)
		})
		if err != nil {
			t.Errorf("Recover %v: Run returned %v", recovers, err)
		}
	}
}

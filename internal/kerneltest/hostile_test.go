package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// A wrapper is an error whose methods expect not to be nil, as most do.
type wrapper struct{ inner error }

func (e *wrapper) Error() string { return "wrapper" }
func (e *wrapper) Unwrap() error { return e.inner }

// A coded error compares itself.
type coded struct{ code int }

func (e *coded) Error() string   { return "coded" }
func (e *coded) Is(error) bool   { return e.code == 3 }
func (e *coded) Unwrap() []error { panic("unwrapped") }

// A slicedError cannot be compared by ==.
type slicedError []error

func (e slicedError) Error() string   { return "sliced" }
func (e slicedError) Unwrap() []error { return e[:1] }

// hostile are errors whose methods panic. The first is what a function returns whose result
// is a *wrapper, and that has found nothing wrong.
var hostile = map[string]func() error{
	"nil pointer with Unwrap": func() error { var e *wrapper; return e },
	"nil pointer with Is":     func() error { var e *coded; return e },
	"Unwrap of several":       func() error { return new(coded) },
	"slice":                   func() error { return slicedError{} },
	"joined":                  func() error { var e *wrapper; return errors.Join(errBroken, e) },
	"behind words":            func() error { var e *coded; return fmt.Errorf("words: %w", e) },
}

// TestHostileErrors: a method of an error that panics is the panic of the task that has
// returned the error, in every place where errors are compared with a cancellation. Nobody else
// is hurt: what waits goes on, the others clean up, and the loop ends gracefully.
func TestHostileErrors(t *testing.T) {
	bad := func(ctx context.Context, fn func(ctx context.Context) error) *rondo.Task {
		task := rondo.Go(ctx, fn)
		task.SetName("bad")
		return task
	}
	for place, fn := range map[string]func(ctx context.Context, err error) error{
		"a task of a cancelled Group": func(ctx context.Context, err error) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				bad(g, func(ctx context.Context) error { _ = forever(ctx); return err })
				g.Go(func(context.Context) error { return errBroken })
				return nil
			})
		},
		"a task that was cancelled": func(ctx context.Context, err error) error {
			task := bad(ctx, func(ctx context.Context) error { _ = forever(ctx); return err })
			task.Cancel(errStop)
			return task.Wait(ctx)
		},
		"the body of a cancelled Group": func(ctx context.Context, err error) error {
			return bad(ctx, func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error { g.Cancel(errStop); return err })
			}).Wait(ctx)
		},
		"the body of a Timeout": func(ctx context.Context, err error) error {
			return bad(ctx, func(ctx context.Context) error {
				return rondo.Timeout(ctx, -1, func(ctx context.Context) error { return err })
			}).Wait(ctx)
		},
		"a function of Start": func(ctx context.Context, err error) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				return bad(g, func(ctx context.Context) error {
					var s *rondo.Scope
					return rondo.Group(ctx, func(inner *rondo.Scope) error {
						s = inner
						inner.Go(func(ctx context.Context) error { _ = rondo.Yield(ctx); g.Cancel(errStop); return nil })
						return s.Start(ctx, func(ctx context.Context, started func()) error { _ = forever(ctx); return err })
					})
				}).Wait(ctx)
			})
		},
		"TimedOut": func(ctx context.Context, err error) error {
			return bad(ctx, func(ctx context.Context) error { rondo.TimedOut(ctx, err); return nil }).Wait(ctx)
		},
		"a panic with it": func(ctx context.Context, err error) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				bad(g, func(ctx context.Context) error { _ = forever(ctx); panic(err) })
				g.Go(func(context.Context) error { return errBroken })
				return nil
			})
		},
		"a task of the root scope when main has ended": nil, // see below
	} {
		for kind, hostile := range hostile {
			t.Run(place+"/"+kind, func(t *testing.T) {
				before := runtime.NumGoroutine()
				var blamed []string
				blame := func(err error) {
					if p, ok := errors.AsType[*rondo.PanicError](err); ok {
						blamed = append(blamed, p.Task)
					}
				}
				cleaned := false
				r := rondo.Runner{Recover: true, OnError: func(_ rondo.TaskInfo, err error) { blame(err) }}
				err := r.Run(t.Context(), func(ctx context.Context) error {
					rondo.Go(ctx, func(ctx context.Context) error {
						defer func() { cleaned = true }()
						return forever(ctx)
					})
					if fn == nil {
						bad(ctx, func(ctx context.Context) error { _ = forever(ctx); return hostile() })
						return rondo.Yield(ctx)
					}
					blame(fn(ctx, hostile()))
					return rondo.Check(ctx)
				})
				if err != nil || !cleaned {
					t.Errorf("Run returned %v; another task has cleaned up: %v", err, cleaned)
				}
				if strings.Join(blamed, " ") != "bad" {
					t.Errorf("blamed: %q, want bad once", blamed)
				}
				if left := leak.Settle(before); left > before {
					t.Errorf("%d goroutines are left", left-before)
				}
			})
		}
	}
}

// TestPanicWithNoPanicError: a panic with a *PanicError that is nil is a panic like any other,
// wherever it is recovered. As an error, and as the cause of a context, it is an error like any
// other.
func TestPanicWithNoPanicError(t *testing.T) {
	var none *rondo.PanicError
	explode := func(context.Context) error { panic(none) }
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		for place, fn := range map[string]func(ctx context.Context) error{
			"task":    explode,
			"Offload": func(ctx context.Context) error { return rondo.OffloadFunc(ctx, explode) },
			"Contain": func(ctx context.Context) error { return rondo.Contain(ctx, explode) },
			"Pull": func(ctx context.Context) error {
				next, _ := rondo.Pull(ctx, func(func(int) bool) { panic(none) })
				v, ok := next()
				return fmt.Errorf("next returned %d, %v", v, ok)
			},
			"a cancelled task": func(ctx context.Context) error {
				rondo.Current(ctx).Cancel(errStop)
				return explode(ctx)
			},
		} {
			err := rondo.Go(ctx, fn).Wait(ctx)
			if p, ok := errors.AsType[*rondo.PanicError](err); !ok || p.Value != any(none) || errors.Is(err, errStop) {
				t.Errorf("%s: the error is %v", place, err)
			}
		}
		c, cancel := context.WithCancelCause(ctx)
		err := rondo.Group(c, func(g *rondo.Scope) error {
			cancel(none)
			if err := forever(g); err != error(none) {
				t.Errorf("the wait has ended with %v", err)
			}
			return none
		})
		if err != error(none) {
			t.Errorf("the Group returned %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A caller is an error of which a method calls the loop, and waits.
type caller struct{ ctx context.Context }

func (e caller) Error() string { return "caller" }
func (e caller) Is(error) bool { return rondo.Yield(e.ctx) != nil }

// TestErrorThatWaits: a method of an error may wait. It runs in the task that has returned the
// error, and that has not ended yet.
func TestErrorThatWaits(t *testing.T) {
	run(t, func(ctx context.Context) error {
		others := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error { return caller{ctx} })
			g.Go(func(context.Context) error { others++; return nil })
			g.Cancel(errStop)
			return nil
		})
		if fmt.Sprint(err) != "caller\nstop" || others != 1 {
			t.Errorf("the Group returned %q, and %d other tasks ran", err, others)
		}
		return nil
	})
}

// A hostileContext is a context between two scopes of which one method panics from a moment on.
// It ends when done is closed.
type hostileContext struct {
	context.Context
	method string
	done   chan struct{}
	armed  *atomic.Bool
}

func (c hostileContext) mayPanic(method string) {
	if c.armed.Load() && c.method == method {
		panic("hostile " + method)
	}
}

func (c hostileContext) Done() <-chan struct{} { c.mayPanic("Done"); return c.done }
func (c hostileContext) Value(key any) any     { c.mayPanic("Value"); return c.Context.Value(key) }

func (c hostileContext) Deadline() (time.Time, bool) {
	c.mayPanic("Deadline")
	return c.Context.Deadline()
}

func (c hostileContext) Err() error {
	c.mayPanic("Err")
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}

// AfterFunc is what package context calls, if there is one.
func (c hostileContext) AfterFunc(fn func()) (stop func() bool) {
	c.mayPanic("AfterFunc")
	ended := make(chan struct{})
	go func() {
		select {
		case <-c.done:
			fn()
		case <-ended:
		}
	}()
	return func() bool {
		close(ended)
		c.mayPanic("stop")
		return true
	}
}

// TestPanicOnTheWayToAWait: a task whose context panics after it has joined a list is in no list
// any more, so it takes no element and no wake-up from others.
func TestPanicOnTheWayToAWait(t *testing.T) {
	r := rondo.Runner{Recover: true, OnError: func(rondo.TaskInfo, error) {}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		var queue rondo.Queue[int]
		var event rondo.Event
		for _, wait := range []func(ctx context.Context) error{
			event.Wait,
			func(ctx context.Context) error { _, err := queue.Get(ctx); return err },
			func(ctx context.Context) error {
				_, err := rondo.Select(ctx, event.WaitCase(), queue.GetCase(new(int)))
				return err
			},
		} {
			bad := rondo.Go(ctx, func(ctx context.Context) error {
				c := hostileContext{ctx, "Done", make(chan struct{}), new(atomic.Bool)}
				c.armed.Store(true)
				return wait(c)
			})
			if _, panicked := errors.AsType[*rondo.PanicError](bad.Wait(ctx)); !panicked {
				t.Errorf("the task returned %v, want its panic", bad.Err())
			}
			var got int
			next := rondo.Go(ctx, func(ctx context.Context) (err error) {
				if err = event.Wait(ctx); err == nil {
					got, err = queue.Get(ctx)
				}
				return err
			})
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			event.Set()
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if err := queue.Put(ctx, 7); err != nil {
				return err
			}
			if err := next.Wait(ctx); err != nil || got != 7 {
				t.Errorf("the next task got %d, %v", got, err)
			}
			event.Clear()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A waitingContext is a context of which a method waits.
type waitingContext struct{ context.Context }

func (c waitingContext) Done() <-chan struct{} {
	panic(fmt.Sprint("it has waited: ", rondo.Sleep(c.Context, 1)))
}

// TestContextThatWaits: a method of a context panics if it waits while a wait with the context
// begins. The task that recovers is in no list, and waits as ever.
func TestContextThatWaits(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var list rondo.WaitList
		panics(t, "Sleep in a callback: callbacks must not wait", func() {
			_ = list.Park(waitingContext{ctx}, rondo.Reason{What: "test"})
		})
		if n, state := list.Len(), rondo.Current(ctx).Info().State; n != 0 || list.Wake() || state != "running" {
			t.Errorf("%d tasks are in the list, and the task is %s", n, state)
		}
		return rondo.Sleep(ctx, 1)
	})
}

// TestHostileContexts: a method of a context that panics, at the call that is given the context
// or at any time after it, is the panic of the task whose context it is.
func TestHostileContexts(t *testing.T) {
	waits := map[string]func(ctx context.Context) error{
		"Sleep": func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) },
		"Event": forever,
		"Yield": rondo.Yield,
		"Group": func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { return forever(g) })
		},
		"Timeout": func(ctx context.Context) error { return rondo.Timeout(ctx, time.Hour, forever) },
		"Shield":  func(ctx context.Context) error { return rondo.Shield(ctx, rondo.Yield) },
		"Go": func(ctx context.Context) error {
			task := rondo.Go(ctx, forever)
			task.SetName("bad")
			return task.Wait(context.WithoutCancel(ctx))
		},
		"Async": func(ctx context.Context) error {
			f := rondo.Async(ctx, func(ctx context.Context) (int, error) { return 0, forever(ctx) })
			f.Task().SetName("bad")
			_, err := f.Wait(context.WithoutCancel(ctx))
			return err
		},
		"Select": func(ctx context.Context) error {
			var e rondo.Event
			_, err := rondo.Select(ctx, e.WaitCase(), rondo.After(time.Hour))
			return err
		},
		"Offload": func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
		},
		"Receive": func(ctx context.Context) error {
			_, _, err := rondo.Receive(ctx, make(chan int))
			return err
		},
		"Pull": func(ctx context.Context) error {
			next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
				rondo.Current(ctx.(hostileContext).Context).SetName("bad")
				_ = forever(ctx)
			})
			defer stop()
			next()
			return nil
		},
		"TimedOut": func(ctx context.Context) error { rondo.TimedOut(ctx, context.DeadlineExceeded); return nil },
	}
	for _, method := range []string{"Done", "Value", "Deadline", "Err", "AfterFunc", "stop"} {
		for _, moment := range []string{"at the call", "while it waits", "when it is cancelled from above"} {
			for name, wait := range waits {
				t.Run(method+"/"+moment+"/"+name, func(t *testing.T) {
					before := runtime.NumGoroutine()
					var blamed []string
					blame := func(err error) {
						for ; err != nil; err = errors.Unwrap(err) {
							if p, ok := err.(*rondo.PanicError); ok {
								blamed = append(blamed, p.Task)
							}
						}
					}
					cleaned := false
					r := rondo.Runner{Recover: true, OnError: func(_ rondo.TaskInfo, err error) { blame(err) }}
					err := r.Run(t.Context(), func(ctx context.Context) error {
						rondo.Go(ctx, func(ctx context.Context) error {
							defer func() { cleaned = true }()
							return forever(ctx)
						})
						var task *rondo.Task
						_ = rondo.Group(ctx, func(g *rondo.Scope) error {
							c := hostileContext{nil, method, make(chan struct{}), new(atomic.Bool)}
							task = g.Go(func(ctx context.Context) error {
								c.Context = ctx
								c.armed.Store(moment == "at the call")
								return wait(c)
							})
							task.SetName("bad")
							for range 3 {
								_ = rondo.Yield(g)
							}
							c.armed.Store(true)
							if moment == "when it is cancelled from above" {
								g.Cancel(errStop)
							}
							close(c.done) // a scope that is cancelled does not reach beyond such a context
							_ = rondo.Shield(g, func(ctx context.Context) error { _, err := rondo.WaitAny(ctx, task); return err })
							return nil
						})
						blame(task.Err())
						return rondo.Check(ctx)
					})
					if err != nil || !cleaned {
						t.Errorf("Run returned %v; another task has cleaned up: %v", err, cleaned)
					}
					blamed = slices.DeleteFunc(blamed, func(task string) bool { return name == "Offload" && task == "an offloaded function" })
					surely := method == "Value" && moment == "at the call" // every call looks for the scope of ctx
					if who := strings.Join(slices.Compact(blamed), " "); who != "bad" && (who != "" || surely) {
						t.Errorf("blamed: %q, want bad", blamed)
					}
					if left := leak.Settle(before); left > before {
						t.Errorf("%d goroutines are left", left-before)
					}
				})
			}
		}
	}
}

// A silentContext is a context that ends when done is closed, and never has an error.
type silentContext struct {
	context.Context
	done chan struct{}
}

func (c silentContext) Done() <-chan struct{} { return c.done }
func (c silentContext) Err() error            { return nil }

// TestContextWithoutAnError: a wait that is ended by a context which does not say why has an error
// all the same, on the loop and on other goroutines. So it is not taken for one that has succeeded.
func TestContextWithoutAnError(t *testing.T) {
	c := silentContext{context.Background(), make(chan struct{})}
	close(c.done)
	run(t, func(ctx context.Context) error {
		future, task := rondo.NewFuture[int](ctx), rondo.Go(ctx, forever)
		for name, wait := range map[string]func() error{
			"Event.Wait": func() error { return forever(silentContext{ctx, c.done}) },
			"Group": func() error {
				return rondo.Group(silentContext{ctx, c.done}, func(g *rondo.Scope) error { return forever(g) })
			},
			"Task.Wait": func() error { return rondo.OffloadFunc(ctx, func(context.Context) error { return task.Wait(c) }) },
			"Future.Wait": func() error {
				return rondo.OffloadFunc(ctx, func(context.Context) error { _, err := future.Wait(c); return err })
			},
		} {
			if err := wait(); err != context.Canceled {
				t.Errorf("%s returned %v", name, err)
			}
		}
		task.Cancel(nil)
		return nil
	})
	if err := rondo.Run(c, forever); err != context.Canceled {
		t.Errorf("Run returned %v", err)
	}
}

// TestHostileContextOfRun: a context that panics while Run begins leaves nothing behind.
func TestHostileContextOfRun(t *testing.T) {
	for _, method := range []string{"Done", "Value", "Deadline", "Err"} {
		c := hostileContext{t.Context(), method, make(chan struct{}), new(atomic.Bool)}
		c.armed.Store(true)
		panics(t, "hostile "+method, func() { _ = rondo.Run(c, rondo.Yield) })
	}
}

// TestContextPanicsLate: without Recover, a context that panics when it is asked why it has
// ended makes Run panic, as the task would that waits with it. So does the context of Run itself.
func TestContextPanicsLate(t *testing.T) {
	for name, run := range map[string]func(c hostileContext, wait func(ctx context.Context) error) error{
		"main": func(c hostileContext, wait func(ctx context.Context) error) error {
			return rondo.Run(t.Context(), func(ctx context.Context) error {
				c.Context = ctx
				return rondo.Group(c, func(g *rondo.Scope) error { return wait(g) })
			})
		},
		"Run": func(c hostileContext, wait func(ctx context.Context) error) error { return rondo.Run(c, wait) },
	} {
		c := hostileContext{t.Context(), "Err", make(chan struct{}), new(atomic.Bool)}
		func() {
			defer func() {
				if p, ok := recover().(*rondo.PanicError); !ok || p.Task != name || p.Value != "hostile Err" {
					t.Errorf("Run panicked with %v, want the panic of %s", p, name)
				}
			}()
			err := run(c, func(ctx context.Context) error {
				c.armed.Store(true)
				close(c.done)
				return forever(ctx)
			})
			t.Errorf("Run returned %v", err)
		}()
	}
}

// TestSimulationAsksOnce: a simulated loop looks at the channel of a context at each turn, and
// asks the context itself only when that is closed.
func TestSimulationAsksOnce(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		c := hostileContext{ctx, "Err", make(chan struct{}), new(atomic.Bool)}
		err := rondo.Group(c, func(g *rondo.Scope) error {
			c.armed.Store(true)
			for range 10 {
				if err := rondo.Sleep(g, time.Second); err != nil {
					return err
				}
			}
			c.armed.Store(false)
			close(c.done)
			return forever(g)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the Group returned %v", err)
		}
	})
}

// A hostileCase is a case of a Select of which one method panics.
type hostileCase struct {
	list   rondo.WaitList
	method string
	open   int // Begins without an End
}

func (c *hostileCase) mayPanic(method string) {
	if c.method == method {
		panic("hostile " + method)
	}
}

func (c *hostileCase) Try(context.Context, any) (bool, error) { c.mayPanic("Try"); return false, nil }

func (c *hostileCase) Begin(context.Context) (*rondo.WaitList, rondo.Reason) {
	c.mayPanic("Begin")
	c.open++
	return &c.list, rondo.Reason{What: "hostile"}
}

func (c *hostileCase) End(any, bool) error {
	c.open--
	c.mayPanic("End")
	return nil
}

// TestHostileCases: after a panic in a method of a case the task waits for none of the cases any
// more: each that has begun has ended, and deferred calls of the task wait as ever.
func TestHostileCases(t *testing.T) {
	for _, method := range []string{"Try", "Begin", "End"} {
		r := rondo.Runner{Recover: true}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			first, bad, last := new(hostileCase), &hostileCase{method: method}, new(hostileCase)
			err := rondo.Go(ctx, func(ctx context.Context) error {
				defer func() {
					if err := rondo.Sleep(ctx, time.Nanosecond); err != nil {
						t.Errorf("%s: a deferred Sleep returned %v", method, err)
					}
				}()
				_, err := rondo.Select(ctx, rondo.Case{On: first}, rondo.Case{On: bad}, rondo.Case{On: last}, rondo.After(1))
				return err
			}).Wait(ctx)
			if p, ok := errors.AsType[*rondo.PanicError](err); !ok || p.Value != "hostile "+method {
				t.Errorf("%s: the task's error is %v", method, err)
			}
			if n := first.open + bad.open + last.open; n != 0 || first.list.Wake() || last.list.Wake() {
				t.Errorf("%s: %d cases have not ended", method, n)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

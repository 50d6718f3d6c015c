package kerneltest_test

// Coroutines that a task makes with iter.Pull and with package
// coro. Their bodies wait as the task that resumes them does.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/coro"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// nests are the ways to make a coroutine of a sequence.
var nests = map[string]func(iter.Seq[int]) (next func() (int, bool), stop func()){
	"iter.Pull": func(s iter.Seq[int]) (func() (int, bool), func()) { return iter.Pull(s) },
	"coro.Pull": func(s iter.Seq[int]) (func() (int, bool), func()) { return coro.Pull(s) },
	"coro.New": func(s iter.Seq[int]) (func() (int, bool), func()) {
		resume, cancel := coro.New(func(_ int, yield func(int) int) int {
			for v := range s {
				yield(v)
			}
			return 0
		})
		return func() (int, bool) { return resume(0) }, cancel
	},
	"coro.Generator": func(s iter.Seq[int]) (func() (int, bool), func()) {
		g := coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) {
			for v := range s {
				if _, err := y.Yield(v); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
		return g.Next, func() { _ = g.Close() }
	},
}

// TestBareCoroutineByTurns: two tasks resume one coroutine by turns. The task
// that resumes it is the one that waits.
func TestBareCoroutineByTurns(t *testing.T) {
	for name, nest := range nests {
		t.Run(name, func(t *testing.T) {
			sim.Explore(t, func(ctx context.Context) {
				var turn rondo.Mutex
				var who []*rondo.Task
				inner, stopInner := nest(func(yield func(int) bool) {
					for i := 0; rondo.Sleep(ctx, time.Second) == nil; i++ {
						who = append(who, rondo.Current(ctx))
						if !yield(i) {
							return
						}
					}
				})
				next, stop := nest(func(yield func(int) bool) {
					defer stopInner()
					for v, ok := inner(); ok && yield(v); v, ok = inner() {
					}
				})
				defer stop()
				var got []int
				var by []*rondo.Task
				err := rondo.Group(ctx, func(g *rondo.Scope) error {
					for range 2 {
						g.Go(func(ctx context.Context) error {
							for range 2 {
								if err := turn.Lock(ctx); err != nil {
									return err
								}
								v, _ := next()
								got, by = append(got, v), append(by, rondo.Current(ctx))
								turn.Unlock()
							}
							return nil
						})
					}
					return nil
				})
				if err != nil || !slices.Equal(got, []int{0, 1, 2, 3}) || !slices.Equal(who, by) {
					t.Errorf("Group returned %v; the values are %v", err, got)
				}
			})
		})
	}
}

// TestDeepCoroutine: a coroutine is in a task however many coroutines are between the two: it may
// wait, and it may not run a loop. One that is in no task may.
func TestDeepCoroutine(t *testing.T) {
	var deep func(levels int, fn func() error) error
	deep = func(levels int, fn func() error) error {
		if levels == 0 {
			return fn()
		}
		next, stop := iter.Pull(func(yield func(error) bool) { yield(deep(levels-1, fn)) })
		defer stop()
		err, _ := next()
		return err
	}
	run(t, func(ctx context.Context) error {
		err := deep(40, func() error { return rondo.Run(context.Background(), nothing) })
		if err == nil || !strings.HasPrefix(err.Error(), "rondo: Run inside a task: ") {
			t.Errorf("Run returned %v", err)
		}
		return deep(40, func() error { return rondo.Sleep(ctx, time.Millisecond) })
	})
	if err := deep(40, func() error { return rondo.Run(t.Context(), nothing) }); err != nil {
		t.Errorf("outside a loop: Run returned %v", err)
	}
}

// TestBareCoroutineLeft: Rondo does not end a coroutine that a task made and left
// half-way. Another task can stop it. After the end of the loop its body runs to
// its end when it is stopped, and its waits fail.
func TestBareCoroutineLeft(t *testing.T) {
	for name, nest := range nests {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			var stopEarly, stopLate func()
			var cleaned []error
			err := rondo.Run(t.Context(), func(ctx context.Context) error {
				maker := rondo.Go(ctx, func(context.Context) error {
					leave := func() func() {
						next, stop := nest(leftBehind(ctx, &cleaned))
						if _, ok := next(); !ok {
							t.Error("next returned no value")
						}
						return stop
					}
					stopEarly, stopLate = leave(), leave()
					return nil
				})
				if err := maker.Wait(ctx); err != nil {
					return err
				}
				stopEarly()
				if len(cleaned) != 1 || cleaned[0] != nil {
					t.Errorf("when another task had stopped it, the waits of its clean-up had returned %v", cleaned)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			// The goroutine of the coroutine is still there.
			if !strings.Contains(leak.Stacks(), "leftBehind") {
				t.Error("the coroutine has ended")
			}
			stopLate()
			if len(cleaned) != 2 || !errors.Is(cleaned[1], rondo.ErrLoopClosed) {
				t.Errorf("stopped after the loop, the waits of its clean-up had returned %v", cleaned)
			}
			if n := leak.Settle(before); n > before || strings.Contains(leak.Stacks(), "leftBehind") {
				t.Errorf("%d goroutines before, %d at the end", before, n)
			}
		})
	}
}

func leftBehind(ctx context.Context, cleaned *[]error) iter.Seq[int] {
	return func(yield func(int) bool) {
		defer func() { *cleaned = append(*cleaned, rondo.Yield(ctx)) }()
		if rondo.Yield(ctx) == nil {
			_ = rondo.Timeout(ctx, time.Hour, func(context.Context) error { yield(1); return nil })
		}
	}
}

// TestScopeOfCoroutineThatMoves: a scope that a task has opened in a coroutine is left in the task
// that resumes the coroutine then, which waits for the tasks of the scope; also if the first task
// has ended, and its goroutine runs another one.
func TestScopeOfCoroutineThatMoves(t *testing.T) {
	for name, nest := range nests {
		for what, then := range map[string]func(ctx context.Context) error{
			"stays":     func(ctx context.Context) error { return rondo.Sleep(ctx, time.Minute) },
			"ends":      nothing,
			"is ending": endsLate,
		} {
			for _, stops := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, the task %s, stops %t", name, what, stops), func(t *testing.T) {
					sim.Explore(t, func(ctx context.Context) { moveInScope(t, ctx, nest, then, stops) })
				})
			}
		}
	}
}

// endsLate leaves behind a Pull, whose end its task waits for.
func endsLate(ctx context.Context) error {
	next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
		yield(1)
		_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Minute) })
	})
	next()
	return nil
}

// moveInScope has a task open a Group in a coroutine, and then call a function. The caller stops
// the coroutine or goes on with it.
func moveInScope(t *testing.T, ctx context.Context, nest func(iter.Seq[int]) (func() (int, bool), func()), then func(ctx context.Context) error, stops bool) {
	running := 0
	next, stop := nest(func(yield func(int) bool) {
		defer func() {
			if running != 0 {
				t.Error("Group has returned before its task")
			}
		}()
		more := false
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			running++
			g.Go(func(ctx context.Context) error {
				defer func() { running-- }()
				return rondo.Sleep(ctx, time.Second)
			})
			more = yield(1)
			return nil
		})
		if more {
			yield(2)
		}
	})
	defer stop()
	var opened, done rondo.Event
	opener := rondo.Go(ctx, func(ctx context.Context) error {
		next()
		opened.Set()
		return then(ctx)
	})
	err := errors.Join(opened.Wait(ctx), rondo.Yield(ctx))
	other := rondo.Go(ctx, func(ctx context.Context) error {
		err := done.Wait(ctx)
		if in := kernel.Of(ctx).Task().Scope(); in != ctx {
			t.Error("the task that came later is in a scope of another")
		}
		return err
	})
	err = errors.Join(err, rondo.Yield(ctx))
	if stops {
		stop()
	} else if v, _ := next(); v != 2 {
		t.Errorf("the second value is %d", v)
	}
	done.Set()
	if err := errors.Join(err, opener.Wait(ctx), other.Wait(ctx)); err != nil {
		t.Error(err)
	}
}

// TestScopesOfCoroutinesInAnyOrder: scopes that a task opens in coroutines may be left in another
// order. A wait without a ctx belongs to the one that was opened last of those that are open.
func TestScopesOfCoroutinesInAnyOrder(t *testing.T) {
	for name, nest := range nests {
		run(t, func(ctx context.Context) error {
			is := func(when string, want context.Context) {
				if in := kernel.Of(ctx).Task().Scope(); in != want {
					t.Errorf("%s, %s: the innermost scope is another one", name, when)
				}
			}
			// opens returns what opens a scope and leaves it, in a coroutine.
			var inner context.Context
			opens := func(ctx context.Context) (next func() (int, bool), stop func()) {
				return nest(func(yield func(int) bool) {
					more := false
					_ = rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error { inner = ctx; more = yield(1); return nil })
					if more {
						yield(2)
					}
				})
			}
			next, stop := opens(ctx)
			defer stop()
			next()
			is("opened", inner)
			_ = rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
				is("opened later", ctx)
				next()
				is("the earlier one left", ctx)
				return nil
			})
			is("both left", ctx)

			_ = rondo.Timeout(ctx, time.Hour, func(context.Context) error {
				next, stop = opens(ctx)
				next()
				return nil
			})
			is("the outer one left", inner)
			stop()
			is("both left, the outer one first", ctx)

			_ = rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
				next, stop = opens(ctx)
				next()
				return nil
			})
			is("left with all that is below", ctx)
			stop()
			is("left below", ctx)

			next, stop = opens(ctx)
			return rondo.Go(ctx, func(own context.Context) error {
				next()
				_ = rondo.Timeout(own, time.Hour, func(context.Context) error { next(); return nil })
				is("left the one with the ctx of another task", own)
				stop()
				return nil
			}).Wait(ctx)
		})
	}
}

// TestScopeOfCoroutineIsLeftInTask: the body of a scope that was opened in a coroutine must not
// return where nothing can wait for the tasks of the scope.
func TestScopeOfCoroutineIsLeftInTask(t *testing.T) {
	if !readsRecords {
		return
	}
	const want = "Group whose body, in a coroutine, has returned in a callback or on a goroutine that is not a task of the loop"
	for name, resume := range map[string]func(ctx context.Context, next func()) error{
		"a callback": func(ctx context.Context, next func()) error { rondo.LoopOf(ctx).CallSoon(next); return forever(ctx) },
		"a goroutine": func(ctx context.Context, next func()) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { next(); return nil })
		},
		"a task of another loop": func(ctx context.Context, next func()) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error {
				return rondo.Run(context.Background(), func(context.Context) error { next(); return nil })
			})
		},
	} {
		ended := false
		text := panicOf(func() {
			_ = rondo.Run(t.Context(), func(ctx context.Context) error {
				next, stop := iter.Pull(func(yield func(int) bool) {
					_ = rondo.Group(ctx, func(g *rondo.Scope) error {
						g.Go(func(ctx context.Context) error { defer func() { ended = true }(); return forever(ctx) })
						yield(1)
						return nil
					})
				})
				defer stop()
				next()
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
				return resume(ctx, func() { next() })
			})
		})
		if !strings.Contains(text, want) || !ended {
			t.Errorf("%s: panic %q; the task of the scope has ended: %t", name, text, ended)
		}
	}
}

// readsRecords is true where the runtime's records say who resumed a coroutine.
// Elsewhere the text of its stack says who made it.
const readsRecords = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestCoroutineIsFoundWithoutStacks: a coroutine that calls a loop for the first
// time is found to be the loop's or not without the text of the stacks of all
// goroutines, which is a megabyte with these tasks.
func TestCoroutineIsFoundWithoutStacks(t *testing.T) {
	if !readsRecords {
		return
	}
	run(t, func(ctx context.Context) error {
		return ignore(rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2000 {
				g.Go(func(ctx context.Context) error { return ignore(forever(ctx)) })
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			inPull := func(f func()) {
				next, stop := iter.Pull(func(yield func(int) bool) { f() })
				defer stop()
				next()
			}
			ask := func(inside bool) {
				for range 10 {
					inPull(func() {
						inPull(func() {
							if got := rondo.Current(ctx) != nil; got != inside {
								t.Errorf("in a task: %t, want %t", got, inside)
							}
						})
					})
				}
			}
			n := allocated(func() { ask(true) })
			n += allocated(func() {
				done := make(chan bool)
				go func() { ask(false); close(done) }()
				<-done
			})
			if n > 256<<10 {
				t.Errorf("%d bytes were allocated", n)
			}
			g.Cancel(errStop)
			return nil
		}))
	})
}

// TestCoroutineBelongsToItsResumer: what counts is who resumed a coroutine, not who
// made it.
func TestCoroutineBelongsToItsResumer(t *testing.T) {
	if !readsRecords {
		return
	}
	elsewhere := func(f func()) {
		done := make(chan bool)
		go func() { f(); close(done) }()
		<-done
	}
	run(t, func(ctx context.Context) error {
		asks := func(yield func(bool) bool) {
			for yield(rondo.Current(ctx) != nil) {
			}
		}
		ofTask, stopFirst := iter.Pull(asks)
		defer stopFirst()
		var ofGoroutine func() (bool, bool)
		var stopSecond func()
		elsewhere(func() { ofGoroutine, stopSecond = iter.Pull(asks) })
		defer stopSecond()
		for range 3 {
			a, _ := ofTask()
			b, _ := ofGoroutine()
			if !a || !b {
				t.Errorf("resumed by a task; in a task: %t and %t", a, b)
			}
			elsewhere(func() {
				a, _ = ofTask()
				b, _ = ofGoroutine()
			})
			if a || b {
				t.Errorf("resumed from outside; in a task: %t and %t", a, b)
			}
		}
		return nil
	})
}

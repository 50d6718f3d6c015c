package kerneltest_test

// Coroutines that a task makes with iter.Pull and with package
// coro. Their bodies wait as the task that resumes them does.

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/coro"
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
			yield(1)
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

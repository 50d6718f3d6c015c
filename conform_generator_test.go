package rondo_test

// What is expected of coroutines and asynchronous generators on an event loop
// (PEP 525), and of bare coroutines in tasks. See also coro/conform_test.go.

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
	"github.com/rondo-go/rondo/sim"
)

// TestC021CancelledCleansUp: a task that waits and is cancelled runs its deferred
// calls, and they may wait.
func TestC021CancelledCleansUp(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var log []string
		task := rondo.Go(ctx, func(ctx context.Context) error {
			defer func() {
				start := rondo.Now(ctx)
				err := rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) })
				log = append(log, fmt.Sprint("cleaned ", err, rondo.Now(ctx).Sub(start)))
			}()
			return rondo.Sleep(ctx, time.Hour)
		})
		_ = rondo.Yield(ctx)
		task.Cancel(nil)
		if err := task.Wait(ctx); err != context.Canceled || !slices.Equal(log, []string{"cleaned <nil> 1s"}) {
			t.Errorf("Wait: %v; log %q", err, log)
		}
	})
}

// TestC022Goexit: whoever waits for a task that calls runtime.Goexit is told.
// Goexit means that a goroutine's work is over, in a test that it has failed, so
// the loop does not go on as if nothing had been: it ends in order, and Run calls
// Goexit as well. A coroutine without a loop hands it to whoever resumed it.
func TestC022Goexit(t *testing.T) {
	before := runtime.NumGoroutine()
	var told error
	cleaned, returned := false, false
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_ = rondo.Run(context.Background(), func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				defer func() { cleaned = true }()
				return rondo.Sleep(ctx, time.Hour)
			})
			leaver := rondo.Go(ctx, func(context.Context) error { runtime.Goexit(); return nil })
			told = rondo.Shield(ctx, func(ctx context.Context) error { return leaver.Wait(ctx) })
			return nil
		})
		returned = true
	}()
	<-ended
	if told == nil || !strings.Contains(told.Error(), "runtime.Goexit") {
		t.Errorf("Wait returned %v", told)
	}
	if !cleaned || returned {
		t.Errorf("the other task was cleaned up: %v; Run returned: %v", cleaned, returned)
	}
	resumed := false
	ended = make(chan bool)
	go func() {
		defer close(ended)
		resume, _ := coro.New(func(int, func(int) int) int { runtime.Goexit(); return 0 })
		resume(0)
		resumed = true
	}()
	if <-ended; resumed {
		t.Error("resume returned")
	}
	if n := settle(before); n > before {
		t.Errorf("%d goroutines before, %d after", before, n)
	}
}

// TestC023StopWaits: stopped half-way, an asynchronous generator runs its
// clean-up, which may wait. A yield in it is no error, as it is in Python: it
// gives false, like each one after the end that iter.Seq knows.
func TestC023StopWaits(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cleaned := false
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			defer func() {
				if yield(2) {
					t.Error("a yield in the clean-up gave true")
				}
				cleaned = rondo.Sleep(ctx, time.Second) == nil
			}()
			yield(1)
		})
		next()
		if stop(); !cleaned {
			t.Error("stop returned before the clean-up had run")
		}
	})
}

// TestC025StopAgain: at the end, or when it was stopped, stop does nothing.
func TestC025StopAgain(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cleaned := 0
		for _, values := range []int{1, 2} {
			next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
				defer func() { cleaned++; _ = rondo.Yield(ctx) }()
				yield(1)
			})
			for range values {
				next()
			}
			stop()
			stop()
		}
		if cleaned != 2 {
			t.Errorf("two clean-ups have run %d times", cleaned)
		}
	})
}

// TestC026LeftAtTheEnd: asynchronous generators that live when main returns are
// all stopped, at once, and what goes wrong in their clean-up is reported.
func TestC026LeftAtTheEnd(t *testing.T) {
	var reported []string
	cleaning, most, cleaned := 0, 0, 0
	runner := rondo.Runner{Recover: true, OnError: func(i rondo.TaskInfo, err error) {
		if !strings.Contains(i.Func, "TestC026") {
			t.Errorf("it is said to be in %s", i.Func)
		}
		text, _, _ := strings.Cut(err.Error(), "\n")
		reported = append(reported, strings.TrimPrefix(text, "rondo: panic in "+i.Name))
	}}
	err := runner.Run(t.Context(), func(ctx context.Context) error {
		for i := range 3 {
			next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
				defer func() {
					cleaning++
					most = max(most, cleaning)
					_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
					cleaning--
					cleaned++
					if i == 1 {
						panic("clean-up failed")
					}
				}()
				yield(i)
			})
			next()
		}
		return nil
	})
	if err != nil || cleaned != 3 || most != 3 {
		t.Errorf("%v; %d were cleaned up, %d at once", err, cleaned, most)
	}
	if !slices.Equal(reported, []string{": clean-up failed"}) {
		t.Errorf("reported: %q", reported)
	}
}

// TestC235AbandonedInCancelledScope: clean-up runs, once, in a ctx that is
// cancelled, before the scope ends. Nobody is warned of it: it is not left to
// chance, as in Python, so there is nothing to warn of.
func TestC235AbandonedInCancelledScope(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cause := errors.New("cause")
		var seen []error
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			next, _ := rondo.Pull(g, func(yield func(int) bool) {
				defer func() { seen = append(seen, rondo.Sleep(g, time.Second), context.Cause(g)) }()
				yield(1)
			})
			next()
			g.Cancel(cause)
			return nil
		})
		if err != cause || !slices.Equal(seen, []error{cause, cause}) {
			t.Errorf("Group: %v; the clean-up saw %v", err, seen)
		}
	})
}

// The rest is about coroutines that a task makes with what there is in Go:
// iter.Pull, and package coro. Their bodies wait as the task that runs them does.

// slowly gives n values with a wait before each.
func slowly(ctx context.Context, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if rondo.Sleep(ctx, time.Second) != nil || !yield(i) {
				return
			}
		}
	}
}

// nests wraps a sequence into a coroutine, in each of the ways there are.
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

// TestBareCoroutine: nested two deep, the body waits, and others run meanwhile.
func TestBareCoroutine(t *testing.T) {
	for name, nest := range nests {
		t.Run(name, func(t *testing.T) {
			sim.Explore(t, func(ctx context.Context) {
				cleaned := 0
				inner, stopInner := nest(func(yield func(int) bool) {
					defer func() { _ = rondo.Sleep(ctx, time.Second); cleaned++ }()
					slowly(ctx, 5)(yield)
				})
				outer, stop := nest(func(yield func(int) bool) {
					defer stopInner()
					for v, ok := inner(); ok && rondo.Sleep(ctx, time.Second) == nil && yield(10*v); v, ok = inner() {
					}
				})
				meanwhile := 0
				ticker := rondo.Go(ctx, func(ctx context.Context) error {
					for {
						if err := rondo.Sleep(ctx, 300*time.Millisecond); err != nil {
							return err
						}
						meanwhile++
					}
				})
				a, _ := outer()
				b, _ := outer()
				stop()
				if a != 0 || b != 10 || cleaned != 1 || meanwhile < 14 {
					t.Errorf("values %d and %d, cleaned up %d times, %d ticks", a, b, cleaned, meanwhile)
				}
				ticker.Cancel(nil)
			})
		})
	}
}

// TestBareCoroutineByTurns: two tasks drive one nest alternately. Whoever calls
// is the one that waits.
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
					t.Errorf("%v; got %v", err, got)
				}
			})
		})
	}
}

// TestBareCoroutineLeft: one that is left half-way stays: nobody but its maker
// knows of it. Its stop works as long as there is a loop; after that its body
// goes on to its end, and its waits fail. rondo.Pull is for those who want to
// leave one.
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
							t.Error("no value")
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
					t.Errorf("stopped by another task: %v", cleaned)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			// What runs it has the loop's place no more, but its goroutine is there.
			if !strings.Contains(stacks(), "leftBehind") {
				t.Error("it has gone")
			}
			stopLate()
			if len(cleaned) != 2 || !errors.Is(cleaned[1], rondo.ErrLoopClosed) {
				t.Errorf("stopped after the loop: %v", cleaned)
			}
			if n := settle(before); n > before || strings.Contains(stacks(), "leftBehind") {
				t.Errorf("%d goroutines before, %d in the end", before, n)
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

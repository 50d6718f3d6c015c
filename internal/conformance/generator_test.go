package conformance

// What is expected of coroutines and asynchronous generators on an event loop
// (PEP 525), and of bare coroutines in tasks. See also coro/conform_test.go.

import (
	"context"
	"errors"
	"fmt"
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
	if n := leak.Settle(before); n > before {
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

package conformance

// Expectations of users of asynchronous generators (PEP 525), which are Pulls
// here. Coroutines without a loop are tested in package coro.

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

// TestC021CancelledCleansUp: the deferred calls of a cancelled task run, and may
// wait in a Shield.
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
			t.Errorf("Wait returned %v; log %q", err, log)
		}
	})
}

// TestC022Goexit: Wait for a task that calls runtime.Goexit returns an error. The
// loop then ends in order, and Run calls Goexit too, as testing.T.FailNow needs.
// A coroutine of package coro hands the Goexit to its resumer.
//
// asyncio has no Goexit: a task can end its thread only with an exception.
func TestC022Goexit(t *testing.T) {
	before := runtime.NumGoroutine()
	var waited error
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
			waited = rondo.Shield(ctx, func(ctx context.Context) error { return leaver.Wait(ctx) })
			return nil
		})
		returned = true
	}()
	<-ended
	if waited == nil || !strings.Contains(waited.Error(), "runtime.Goexit") {
		t.Errorf("Wait returned %v", waited)
	}
	if !cleaned || returned {
		t.Errorf("the other task ran its clean-up: %v; Run returned: %v", cleaned, returned)
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

// TestC023StopWaits: stop of a Pull returns when the clean-up of the sequence,
// which may wait, has run. A yield in that clean-up returns false.
//
// In Python a yield in the clean-up is an error.
func TestC023StopWaits(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cleaned := false
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			defer func() {
				if yield(2) {
					t.Error("a yield in the clean-up returned true")
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

// TestC025StopAgain: stop of a Pull does nothing when the Pull has ended or was
// stopped before.
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
			t.Errorf("the clean-ups of two Pulls ran %d times", cleaned)
		}
	})
}

// TestC026LeftAtTheEnd: Pulls that are left when main returns are stopped all at
// once, and a panic in their clean-up is reported to OnError.
func TestC026LeftAtTheEnd(t *testing.T) {
	var reported []string
	cleaning, most, cleaned := 0, 0, 0
	runner := rondo.Runner{Recover: true, OnError: func(i rondo.TaskInfo, err error) {
		if !strings.Contains(i.Func, "TestC026") {
			t.Errorf("the function of the report is %s", i.Func)
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
		t.Errorf("Run returned %v; %d of 3 clean-ups ran, %d at once", err, cleaned, most)
	}
	if !slices.Equal(reported, []string{": clean-up failed"}) {
		t.Errorf("OnError got %q", reported)
	}
}

// TestC235AbandonedInCancelledScope: a Pull that is left in a cancelled scope is
// cleaned up once, with a cancelled ctx, before the scope ends.
//
// Python warns, because there the garbage collector decides when it happens.
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
			t.Errorf("Group returned %v; the clean-up saw %v", err, seen)
		}
	})
}

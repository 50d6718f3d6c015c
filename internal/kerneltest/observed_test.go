package kerneltest_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// blockedOutside matches the stack of a goroutine that waits for something of a loop.
var blockedOutside = regexp.MustCompile(`\[select.*\]:\n.*waitOutside`)

// TestErrorOfWaitFromOutside: an error in the root scope for which a goroutine waits goes
// to that goroutine and not to OnError, also if the loop ends at once. If the goroutine
// has given up, the error goes to OnError.
func TestErrorOfWaitFromOutside(t *testing.T) {
	for name, start := range map[string]func(ctx context.Context, fn func(ctx context.Context) error) (wait func(ctx context.Context) error){
		"Task": func(ctx context.Context, fn func(ctx context.Context) error) func(ctx context.Context) error {
			return rondo.Go(ctx, fn).Wait
		},
		"Future": func(ctx context.Context, fn func(ctx context.Context) error) func(ctx context.Context) error {
			f := rondo.Async(ctx, func(ctx context.Context) (int, error) { return 0, fn(ctx) })
			return func(ctx context.Context) error { _, err := f.Wait(ctx); return err }
		},
	} {
		for _, givesUp := range []bool{false, true} {
			var reported error
			r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
			waited := make(chan error, 1)
			outside, giveUp := context.WithCancelCause(context.Background())
			err := r.Run(t.Context(), func(ctx context.Context) error {
				var fails rondo.Event
				wait := start(ctx, func(ctx context.Context) error {
					_ = fails.Wait(ctx)
					return errBroken
				})
				go func() { waited <- wait(outside) }()
				for !blockedOutside.MatchString(leak.Stacks()) {
					if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
						return err
					}
				}
				if givesUp {
					giveUp(errStop)
					err := <-waited
					waited <- err
				}
				if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
				fails.Set()
				return rondo.Yield(ctx)
			})
			giver, want := errBroken, error(nil)
			if givesUp {
				giver, want = errStop, errBroken
			}
			got := <-waited
			giveUp(nil)
			if err != nil || got != giver || reported != want {
				t.Errorf("%s, given up: %t: Run returned %v, the wait %v; OnError got %v", name, givesUp, err, got, reported)
			}
		}
	}
}

// TestErrorOfSelectFromAnotherLoop: an error of a task that a Select on another loop has
// waited for goes to OnError if the Select has taken another case.
func TestErrorOfSelectFromAnotherLoop(t *testing.T) {
	for _, taken := range []bool{false, true} {
		var reported error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			var fails rondo.Event
			task := rondo.Go(ctx, func(ctx context.Context) error { _ = fails.Wait(ctx); return errBroken })
			_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
				return 0, rondo.Run(context.Background(), func(there context.Context) error {
					d := time.Millisecond
					if taken {
						d = time.Hour
						_ = rondo.LoopOf(ctx).Post(fails.Set)
					}
					i, err := rondo.Select(there, task.WaitCase(), rondo.After(d))
					if taken && (i != 0 || err != errBroken) || !taken && i != 1 {
						return errors.New("the Select has taken the wrong case")
					}
					return nil
				})
			})
			fails.Set()
			return errors.Join(err, rondo.Yield(ctx))
		})
		if err != nil || (reported == nil) != taken {
			t.Errorf("taken: %t: Run returned %v, OnError got %v", taken, err, reported)
		}
	}
}

// TestErrorBehindAFutureThatWasSet: if others have set the Future of a task, and that was
// waited for, the error with which the task ends later goes to OnError all the same.
func TestErrorBehindAFutureThatWasSet(t *testing.T) {
	for name, set := range map[string]func(f *rondo.Future[int]){
		"Set":  func(f *rondo.Future[int]) { f.Set(1) },
		"Fail": func(f *rondo.Future[int]) { f.Fail(errStop) },
	} {
		var reported error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			var fails rondo.Event
			f := rondo.Async(ctx, func(ctx context.Context) (int, error) { _ = fails.Wait(ctx); return 0, errBroken })
			waiter := rondo.Go(ctx, func(ctx context.Context) error { _, _ = f.Wait(ctx); return nil })
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			set(f)
			if err := waiter.Wait(ctx); err != nil {
				return err
			}
			fails.Set()
			return rondo.Yield(ctx)
		})
		if err != nil || reported != errBroken {
			t.Errorf("%s: Run returned %v, OnError got %v", name, err, reported)
		}
	}
}

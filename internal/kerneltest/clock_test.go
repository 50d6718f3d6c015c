package kerneltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestNoOldReadingOfTheClock: what begins after a long step lasts as long as it says. A step does
// not read the clock, so an instant that was counted from the loop's last reading would come too
// early. No load makes that happen: nothing may be shorter than it says.
func TestNoOldReadingOfTheClock(t *testing.T) {
	const step, d = 2 * time.Millisecond, time.Millisecond
	var called rondo.Event
	for name, wait := range map[string]func(ctx context.Context) error{
		"Sleep":      func(ctx context.Context) error { return rondo.Sleep(ctx, d) },
		"SleepUntil": func(ctx context.Context) error { return rondo.SleepUntil(ctx, rondo.Now(ctx).Add(d)) },
		"After": func(ctx context.Context) error {
			_, err := rondo.Select(ctx, rondo.After(d))
			return err
		},
		"Every": func(ctx context.Context) error {
			for range rondo.Every(ctx, d) {
				return nil
			}
			return rondo.Check(ctx)
		},
		"Timeout": func(ctx context.Context) error {
			if err := rondo.Timeout(ctx, d, rondo.WaitCanceled); !rondo.TimedOut(ctx, err) {
				return err
			}
			return nil
		},
		"CallLater": func(ctx context.Context) error {
			called.Clear()
			rondo.LoopOf(ctx).CallLater(d, called.Set)
			return called.Wait(ctx)
		},
	} {
		run(t, func(ctx context.Context) error {
			if err := rondo.Sleep(ctx, time.Microsecond); err != nil { // after which the loop reads its clock
				return err
			}
			for begin := rondo.Now(ctx); rondo.Now(ctx).Sub(begin) < step; {
				continue // the long step
			}
			begin := rondo.Now(ctx)
			err := wait(ctx)
			if took := rondo.Now(ctx).Sub(begin); took < d {
				t.Errorf("%s took %v, want %v at least", name, took, d)
			}
			return err
		})
	}
}

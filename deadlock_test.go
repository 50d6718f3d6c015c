package rondo

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// TestStillness: it is long once, after the limit, and a step begins another time.
func TestStillness(t *testing.T) {
	var still stillness
	for _, c := range []struct {
		now   int64
		steps uint64
		long  bool
		until int64
	}{
		{100, 0, false, 110},
		{109, 0, false, 110},
		{110, 0, true, never},
		{200, 0, false, never},
		{201, 7, false, 211},
		{210, 8, false, 220},
		{230, 8, true, never},
	} {
		if long, until := still.long(c.now, c.steps, 10); long != c.long || until != c.until {
			t.Errorf("at %d, step %d: %v until %d, want %v until %d", c.now, c.steps, long, until, c.long, c.until)
		}
	}
}

// TestDeadlockLasts: a loop in deadlock ends when EndDeadlock has passed, and not before. Without
// EndDeadlock it sleeps for a second, reports the deadlock, and then sleeps until something comes.
func TestDeadlockLasts(t *testing.T) {
	for _, end := range []time.Duration{time.Second, time.Minute, 0} {
		d := &stepClock{now: 100}
		ctx := driver.With(t.Context(), func() (driver.Driver, error) { return d, nil })
		r := Runner{HangAfter: -1, EndDeadlock: end}
		want, last := int64(end), ErrDeadlock
		err := r.Run(ctx, func(ctx context.Context) error {
			if end == 0 {
				want, last = deadlockAfter, context.Canceled
				d.report = func() {
					d.report = func() {
						d.now = 100 + want
						scopeOf(ctx).Cancel(nil)
					}
				}
			}
			return WaitCanceled(ctx)
		})
		if !errors.Is(err, last) || d.now != 100+want {
			t.Errorf("EndDeadlock %v: Run returned %v when the clock stood at %d, want %d", end, err, d.now, 100+want)
		}
	}
}

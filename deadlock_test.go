package rondo

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
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
		limit int64
		long  bool
		until int64
	}{
		{100, 0, 10, false, 110},
		{109, 0, 10, false, 110},
		{110, 0, 10, true, never},
		{200, 0, 10, false, never},
		{201, 7, 10, false, 211},
		{210, 8, 10, false, 220},
		{230, 8, 10, true, never},
		{240, 9, never, false, never}, // and not a time before now, for which the loop would not sleep
	} {
		if long, until := still.long(c.now, c.steps, c.limit); long != c.long || until != c.until {
			t.Errorf("at %d, step %d: %v until %d, want %v until %d", c.now, c.steps, long, until, c.long, c.until)
		}
	}
}

// TestManyWaits: rings are looked for up to a number of waits of one task for another, and beyond
// it for none, because that would take too long.
func TestManyWaits(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		l := LoopOf(ctx)
		return Group(ctx, func(g *Scope) error {
			const limit = 1024
			var held []*Task // each waits for all that run
			hold := func() { held = append(held, g.Go(func(context.Context) error { return nil })) }
			g.SetLimit(limit)
			for range limit {
				g.Go(func(ctx context.Context) error { return held[0].Wait(ctx) })
			}
			for limit*len(held)+limit < mostArrows {
				hold()
			}
			for held[0].joiners == nil || held[0].joiners.Len() < limit {
				if err := Yield(g); err != nil {
					return err
				}
			}
			if rings := l.tangles(); len(rings) == 0 {
				t.Errorf("with %d waits no ring is found", mostArrows)
			}
			hold()
			Go(ctx, func(context.Context) error { return nil }) // one that waits for nothing
			if rings := l.tangles(); len(rings) != 0 {
				t.Errorf("with more waits %d rings are found", len(rings))
			}
			g.Cancel(nil)
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNothingIsLate: if the last task has ended when the loop is to say what delays its end, it
// says nothing.
func TestNothingIsLate(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	new(Loop).reportLate()
	if log.Len() > 0 {
		t.Errorf("it says: %s", &log)
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

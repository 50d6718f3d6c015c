package rondo

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/flight"
	"github.com/rondo-go/rondo/internal/pace"
)

// TestRecordBegins: a loop gets its record after a number of switches or a time, whichever comes
// first, and notes each mark from then on; without a record none.
func TestRecordBegins(t *testing.T) {
	const born = int64(1e15)
	for _, c := range []struct {
		switches uint64
		age      int64
		off      bool
		want     bool
	}{
		{recordAfterSwitches - 1, recordAfter - 1, false, false},
		{recordAfterSwitches, 0, false, true},
		{0, recordAfter, false, true},
		{recordAfterSwitches, recordAfter, true, false},
	} {
		l := &Loop{}
		l.flight.born, l.flight.off, l.stats.Switches = born, c.off, c.switches
		for range 2 {
			l.mark(born+c.age, 1)
		}
		if r := l.flight.record; (r != nil) != c.want || r != nil && r.Marked != 2 {
			t.Errorf("after %d switches and %d ns, off: %v: the loop has a record: %v", c.switches, c.age, c.off, r != nil)
		}
	}
}

// TestMarks: marks say which task ran last, that the loop slept, and that it was without the
// processor for a while. What it sleeps, or is without the processor, is charged to no task. After
// a sleep it keeps the processor, and while it sleeps it says so.
func TestMarks(t *testing.T) {
	type mark struct {
		at   int64
		task uint32
	}
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		l, me := scopeOf(ctx).loop, Current(ctx)
		l.flight.record = flight.New()
		check := func(what string, want ...mark) {
			t.Helper()
			var got []mark
			for _, m := range l.flight.record.Marks[:l.flight.record.Marked] {
				got = append(got, mark{m.At, m.Task})
			}
			if l.flight.record.Marked = 0; !slices.Equal(got, want) {
				t.Errorf("%s: the marks are %v, want %v", what, got, want)
			}
		}
		began, asleep := d.now, false
		d.report = func() { asleep = l.look().Asleep }
		if err := Sleep(ctx, time.Second); err != nil {
			return err
		}
		if !asleep || l.look().Asleep {
			t.Errorf("the loop says that it sleeps: %v in a sleep, %v after it", asleep, l.look().Asleep)
		}
		check("a sleep", mark{began, flight.Asleep}, mark{d.now, 0})
		run, none := uint32(me.id), uint32(0)
		for _, c := range []struct {
			what       string
			took, away int64 // if the loop gives the processor away, it is without it for so long
			callback   bool
			gone       bool
			want       []mark // since the end of the step
		}{
			{"a step after a sleep", pace.After, recordAway, false, false, []mark{{0, run}}},
			{"away for a moment", 2 * pace.After, recordAway - 1, false, true, []mark{{recordAway - 1, run}}},
			{"away for a while", 2 * pace.After, recordAway, false, true, []mark{{0, flight.Asleep}, {recordAway, none}}},
			{"a step", pace.After, recordAway, false, false, []mark{{0, run}}},
			{"a callback", pace.After, recordAway, true, true, []mark{{0, flight.Asleep}, {recordAway, none}}},
			{"a callback that is short", pace.After, 0, true, false, []mark{{0, none}}},
		} {
			l.pace.Look = 0 // the clock is read after the step
			d.report = func() { d.passes = []int64{0, c.away} }
			busy, want := me.worker.cost.Busy(), c.took
			if c.callback {
				l.CallSoon(func() { d.now += c.took })
				want = 0
			} else {
				d.now += c.took
			}
			end := d.now
			if err := Yield(ctx); err != nil {
				return err
			}
			if c.callback {
				end += c.took
			}
			for i := range c.want {
				c.want[i].at += end
			}
			check(c.what, c.want...)
			if got := me.worker.cost.Busy() - busy; got != want || (len(d.passes) == 0) != c.gone {
				t.Errorf("%s: the task is charged with %d ns, want %d; the loop gave the processor away: %v", c.what, got, want, len(d.passes) == 0)
			}
			d.passes = nil
		}
		return nil
	})
}

// TestLastStepIsCharged: the step after which the goroutine of Run goes on, to end the loop, is
// charged to the task that made it.
func TestLastStepIsCharged(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		l := scopeOf(ctx).loop
		Go(ctx, func(ctx context.Context) error {
			cost := &Current(ctx).worker.cost
			const took = pace.Slow / 2
			busy := cost.Busy()
			d.now += took
			l.pace.Look = l.steps + 1 // the clock is read when it is the turn of the goroutine of Run
			_ = Yield(ctx)
			if ctx.Err() == nil || cost.Busy() != busy+took {
				t.Errorf("the loop ends: %v; of %d ns the task is charged with %d", ctx.Err() != nil, took, cost.Busy()-busy)
			}
			return nil
		})
		return nil
	})
}

package fd_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/poll"
)

// A leaping driver has a clock that jumps to the end of each sleep, and notes how long that was.
type leaping struct {
	driver.Driver
	now    atomic.Int64
	sleeps []time.Duration
	slept  func() // is called after each; nil: nothing is
}

func (d *leaping) Now() int64 { return d.now.Load() }

func (d *leaping) Poll(until int64) error {
	if until <= d.Now() || until == driver.Forever {
		return d.Driver.Poll(until)
	}
	d.sleeps = append(d.sleeps, time.Duration(until-d.Now()))
	d.now.Store(until)
	if d.slept != nil {
		d.slept()
	}
	return d.Driver.Poll(driver.Busy)
}

// runLeaping is run on a leaping driver.
func runLeaping(t *testing.T, main func(ctx context.Context, d *leaping) error) {
	t.Helper()
	d := new(leaping)
	d.now.Store(1 << 40)
	ctx := driver.With(context.Background(), func() (driver.Driver, error) {
		real, err := poll.Open()
		d.Driver = real
		return d, err
	})
	watchdog := time.AfterFunc(2*time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	if err := rondo.Run(ctx, func(ctx context.Context) error { return main(ctx, d) }); err != nil {
		t.Error(err)
	}
}

// A setting is a deadline as the time that is left when it is set, or none.
type setting struct {
	left time.Duration
	none bool
}

// deadlineStep is the time between two settings. No deadline is at the time of one.
const deadlineStep = 2 * time.Millisecond

// endOf returns how long after the first of these settings an operation ends that waits all the
// time, and whether it ends at all.
func endOf(all []setting) (time.Duration, bool) {
	for i, s := range all {
		at := time.Duration(i) * deadlineStep
		end := at + max(s.left, 0)
		if last := i == len(all)-1; !s.none && (last || end < at+deadlineStep) {
			return end, true
		}
	}
	return 0, false
}

// TestDeadlineModel: what waits ends at the last deadline that was set before it, to the
// nanosecond, and at no other time: a Read, a Write and a Watcher, which have begun to wait before
// the first deadline was set, or after it. Before the wait, and after Close, no timer is set.
func TestDeadlineModel(t *testing.T) {
	choices := []setting{{none: true}, {left: -time.Hour}, {left: 0}, {left: time.Millisecond}, {left: 3 * time.Millisecond},
		{left: 5 * time.Millisecond}, {left: time.Hour}}
	runLeaping(t, func(ctx context.Context, d *leaping) error {
		var all []setting
		for _, one := range choices {
			for _, two := range choices {
				for _, three := range choices {
					all = append(all[:0], one, two, three)
					for _, what := range []string{"Read", "Write", "Watcher"} {
						for _, late := range []bool{false, true} {
							checkDeadlines(t, ctx, d, what, late, all)
						}
					}
				}
			}
		}
		return nil
	})
}

// A stopwatch notes when it is called.
type stopwatch struct {
	d  *leaping
	at []int64
}

func (n *stopwatch) Ready() { n.at = append(n.at, n.d.Now()) }

// checkDeadlines waits, and sets deadlines. If late is true the wait begins after the first.
func checkDeadlines(t *testing.T, ctx context.Context, d *leaping, what string, late bool, all []setting) {
	_, f := scripted(ctx)
	ends := &stopwatch{d: d}
	which := driver.Readable
	if what == "Write" {
		which = driver.Writable
	}
	begin := d.Now()
	for i, set := range all {
		if i == 0 && !late {
			waits(ctx, f, what, ends)
		}
		var at time.Time
		if !set.none {
			at = d.Time(d.Now()).Add(set.left)
		}
		if err := f.SetDeadline(which, at); err != nil {
			t.Error(err)
		}
		if i == 0 && late {
			if n := rondo.LoopOf(ctx).Stats().Timers; n != 0 {
				t.Errorf("%s, deadline %v: %d timers are set, and nothing waits", what, set, n)
			}
			waits(ctx, f, what, ends)
		}
		if i < len(all)-1 {
			_ = rondo.Sleep(ctx, deadlineStep)
		}
	}
	_ = rondo.Sleep(ctx, 2*time.Hour)
	var got []time.Duration
	for _, at := range ends.at {
		got = append(got, time.Duration(at-begin))
	}
	if end, ended := endOf(all); len(got) > 1 || (len(got) == 1) != ended || ended && got[0] != end {
		t.Errorf("%s, late: %v, deadlines %v: ended at %v, want %v: %v", what, late, all, got, end, ended)
	}
	err := f.Close()
	if n := rondo.LoopOf(ctx).Stats().Timers; n != 0 || err != nil {
		t.Errorf("%s, late: %v, deadlines %v: after Close %d timers are set; %v", what, late, all, n, err)
	}
	_ = rondo.Yield(ctx)
}

// waits begins to wait for f, and has ends note when its deadline has ended that.
func waits(ctx context.Context, f *fd.FD, what string, ends *stopwatch) {
	op := f.Read
	switch what {
	case "Watcher":
		if f.WatchInput(ends) {
			ends.Ready()
		}
		return
	case "Write":
		op = f.Write
	}
	rondo.Go(ctx, func(context.Context) error {
		if _, err := op(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			ends.Ready()
		}
		return nil
	})
	_ = rondo.Yield(ctx)
}

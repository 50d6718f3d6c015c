package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim/internal/moment"
)

// TestMonotonic holds the layout that withMonotonic writes to package time: the wall stays, and
// the difference of two times is that of their readings.
func TestMonotonic(t *testing.T) {
	first := withMonotonic(epoch, moment.Origin+5)
	for _, wall := range []time.Time{epoch, time.Date(1885, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(2157, 3, 1, 23, 59, 59, 999999999, time.UTC)} {
		for _, instant := range []int64{moment.Origin, moment.Origin + 1, moment.Origin + int64(1000*24*time.Hour)} {
			got := withMonotonic(wall, instant)
			if !got.Round(0).Equal(wall) || got.Round(0) != wall || got.Format(time.RFC3339Nano) != wall.Format(time.RFC3339Nano) {
				t.Errorf("%v shows %v on the wall", wall, got)
			}
			if d := got.Sub(first); d != time.Duration(instant-moment.Origin-5) || !strings.Contains(got.String(), " m=+") {
				t.Errorf("%v is %v after the first", got, d)
			}
			if later := got.Add(time.Hour); later.Sub(got) != time.Hour || !later.Round(0).Equal(wall.Add(time.Hour)) {
				t.Errorf("an hour after %v is %v", got, later)
			}
		}
	}
	for _, wall := range []time.Time{time.Date(1884, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(2158, 1, 1, 0, 0, 0, 0, time.UTC), {}} {
		if got := withMonotonic(wall, moment.Origin); got != wall {
			t.Errorf("%v became %v: it has no room for a reading", wall, got)
		}
	}
}

// TestClockOfHost sets the clock of a host at random, with sleeps between. The difference of two
// times is what the host has slept, and the wall alone shows the offset.
func TestClockOfHost(t *testing.T) {
	Config{Seeds: 20, SeedsShort: 20, Exact: true}.Cluster(t, func(ctx context.Context, w *World) {
		rounds := 0
		w.Host("clocked", func(ctx context.Context) error {
			h := HostOf(ctx)
			r := rand.New(rand.NewPCG(uint64(w.test.number), uint64(Choose(ctx, 1000))))
			start, slept := rondo.Now(ctx), time.Duration(0)
			offset := h.offset
			for range 30 {
				before, wasPPM := rondo.Now(ctx), h.ppm
				next := time.Duration(r.Int64N(int64(48*time.Hour))) - 24*time.Hour
				h.SetClock(next, r.IntN(1001)-500)
				after := rondo.Now(ctx)
				if d := after.Sub(before); d != 0 {
					t.Errorf("SetClock moved the difference by %v", d)
				}
				if jump := after.Round(0).Sub(before.Round(0)); jump != next-offset {
					t.Errorf("the wall jumped by %v, want %v (the rate was %d ppm)", jump, next-offset, wasPPM)
				}
				offset = next
				d := time.Duration(r.Int64N(int64(time.Minute)))
				if err := rondo.Sleep(ctx, d); err != nil {
					return err
				}
				if slept += d; rondo.Now(ctx).Sub(start) < slept || rondo.Now(ctx).Sub(start) > slept+100 {
					t.Errorf("%v have passed after sleeps of %v", rondo.Now(ctx).Sub(start), slept)
				}
				rounds++
			}
			return nil
		})
		if _ = rondo.Sleep(ctx, 2*time.Hour); rounds != 30 {
			t.Errorf("%d of 30 rounds ended", rounds)
		}
	})
}

// TestClockOfSleepingHost: the timers of a host that sleeps follow a new rate of its clock.
func TestClockOfSleepingHost(t *testing.T) {
	Config{Exact: true}.Cluster(t, func(ctx context.Context, w *World) {
		start := rondo.Now(ctx)
		for _, row := range []struct {
			name string
			ppm  int
			want time.Duration
		}{{"as fast", 0, 60 * time.Minute}, {"twice as fast", 1e6, 45 * time.Minute}, {"half as fast", -5e5, 90 * time.Minute}} {
			h := w.Host(row.name, func(host context.Context) error {
				err := rondo.Sleep(host, time.Hour)
				if d := rondo.Now(ctx).Sub(start); d < row.want || d > row.want+time.Microsecond {
					t.Errorf("%s: an hour's sleep whose second half is so took %v, want %v", row.name, d, row.want)
				}
				return err
			})
			rondo.Go(ctx, func(ctx context.Context) error {
				err := rondo.Sleep(ctx, 30*time.Minute)
				h.SetClock(0, row.ppm)
				return err
			})
		}
		_ = rondo.Sleep(ctx, 3*time.Hour)
	})
}

// TestClockConversions: a timer is not early, and late by no more than the clock's grain, however
// far ahead it is and however fast the clock runs. One that is beyond the end of the world's clock
// never fires.
func TestClockConversions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		ppm := [...]int{-999999, -999998, -500000, -500, -1, 0, 1, 500, 1e6, 1e9}[r.IntN(10)]
		ahead := r.Int64N(1<<r.IntN(50)+1) - r.Int64N(1<<r.IntN(50)+1)
		c := clock{ppm: ppm, setAt: moment.Origin + r.Int64N(1e15), ahead: ahead}
		at := c.setAt + ahead + r.Int64N(1<<r.IntN(63)+1)
		if at < 0 {
			continue
		}
		rate := float64(1e6+ppm) / 1e6
		exact := float64(c.setAt) + (float64(at)-float64(ahead)-float64(c.setAt))/rate
		switch u := c.universal(at); {
		case u == never:
			if exact < never/2 {
				t.Errorf("%+v: %d never comes, want it at %g", c, at, exact)
			}
		case exact > 1.001*never:
			t.Errorf("%+v: %d comes at %d, and the end is before that", c, at, u)
		case u < never/2000:
			if got := c.local(u); got < at || float64(got-at) > rate+1 {
				t.Errorf("%+v: the timer of %d fires at %d", c, at, got)
			}
		}
	}
}

// TestSlowestClock: a host whose clock hardly moves sleeps until the end, and disturbs nobody.
func TestSlowestClock(t *testing.T) {
	Config{Seeds: 20, SeedsShort: 20}.Cluster(t, func(ctx context.Context, w *World) {
		for _, d := range []time.Duration{5 * time.Hour, 290 * 365 * 24 * time.Hour} {
			for _, ppm := range []int{-999_999, -500_000} {
				w.Host(fmt.Sprint(d, ppm), func(ctx context.Context) error { return rondo.Sleep(ctx, d) }).SetClock(0, ppm)
			}
		}
		_ = rondo.Sleep(ctx, time.Hour)
	})
}

// TestClocksDrift: with Faults.ClockSkew the clock of a host has a rate of its own from its first
// boot on, also if the host does nothing but sleep.
func TestClocksDrift(t *testing.T) {
	c := Config{Seeds: 30, SeedsShort: 30, Faults: Faults{ClockSkew: 1e-9}} // it will not be set again
	c.Cluster(t, func(ctx context.Context, w *World) {
		start, woke := rondo.Now(ctx), time.Duration(0)
		w.Host("a", func(host context.Context) error {
			err := rondo.Sleep(host, time.Hour)
			woke = rondo.Now(ctx).Sub(start)
			return err
		})
		_ = rondo.Sleep(ctx, 2*time.Hour)
		Sometimes(ctx, woke < time.Hour, "an hour's sleep takes less on the other clocks")
	})
}

// TestDeadlinesWhenClockIsSet: a deadline that was computed from Now stays when the clock is
// set, and one that was read from elsewhere is compared by the wall.
func TestDeadlinesWhenClockIsSet(t *testing.T) {
	Config{Seeds: 3, SeedsShort: 3, Exact: true}.Cluster(t, func(ctx context.Context, w *World) {
		ended := 0
		w.Host("clocked", func(ctx context.Context) error {
			start := rondo.Now(ctx)
			until := start.Add(time.Minute)
			HostOf(ctx).SetClock(time.Hour, 0)
			for i, at := range []time.Time{until, until.Round(0).Add(time.Hour), until.Round(0)} {
				_ = rondo.Deadline(ctx, at, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
				if d := rondo.Now(ctx).Sub(start); d != time.Minute {
					t.Errorf("deadline %d ended after %v, want a minute", i, d)
				}
				ended++
			}
			if d := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
				// The machine's own clock is decades ahead of a simulated one, also by its reading.
				return rondo.Deadline(ctx, time.Now().Add(time.Second), func(ctx context.Context) error { return rondo.Sleep(ctx, 2*time.Hour) })
			}); d == nil || rondo.Now(ctx).Sub(start) != time.Hour+time.Minute {
				t.Errorf("after %v: %v", rondo.Now(ctx).Sub(start), d)
			}
			ended++
			return nil
		})
		_ = rondo.Sleep(ctx, 3*time.Hour)
		if ended != 4 {
			t.Errorf("%d of 4 deadlines ended", ended)
		}
	})
}

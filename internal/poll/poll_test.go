package poll_test

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// The contract of driver.Driver, checked for the backend that Open returns.

// A Poll that does not sleep takes a Wake like any other: its caller then looks
// for posted functions.
func TestWakeIsTakenByGlance(t *testing.T) {
	watchdog(t)
	d := open(t)
	d.Wake()
	glance(t, d)
	until := d.Now() + int64(time.Millisecond)
	if err := d.Poll(until); err != nil {
		t.Fatal(err)
	}
	if now := d.Now(); now < until && !mayReturnEarly {
		t.Errorf("a Wake ended two Polls: %v early", time.Duration(until-now))
	}
}

// TestNoWakeIsLost is a ping-pong: each Wake answers the Poll before it and
// nothing else would, so the test hangs if one is lost.
//
// Method: the waker waits a short time, a different one each round, so that its
// Wake comes before, during and after every step of going to sleep. The
// deadlines vary, so that the backend has to change one in most rounds.
func TestNoWakeIsLost(t *testing.T) {
	for _, c := range []struct {
		name  string
		until func(d driver.Driver, round int64) int64
	}{
		{"Forever", func(driver.Driver, int64) int64 { return driver.Forever }},
		{"Deadlines", func(d driver.Driver, round int64) int64 {
			if round%3 == 0 {
				return driver.Forever
			}
			return d.Now() + int64(time.Hour) + round
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			watchdog(t)
			rounds := int64(20_000)
			if testing.Short() {
				rounds = 5_000
			}
			d := open(t)
			var posted, seen atomic.Int64
			var waker sync.WaitGroup
			waker.Go(func() {
				p := pause{seed: 1}
				for round := range rounds {
					for seen.Load() < round {
						runtime.Gosched()
					}
					p.spin()
					posted.Add(1)
					d.Wake()
				}
			})
			p := pause{seed: 2}
			for seen.Load() < rounds {
				p.spin()
				for posted.Load() == seen.Load() {
					if err := d.Poll(c.until(d, seen.Load())); err != nil {
						t.Fatal(err)
					}
				}
				seen.Add(1)
			}
			waker.Wait()
		})
	}
}

// TestManyWakers has several goroutines post at once, each waiting for its own
// answer, while the loop polls in every way.
func TestManyWakers(t *testing.T) {
	watchdog(t)
	const wakers, rounds = 8, 2_000
	d := open(t)
	type post struct{ answered atomic.Bool }
	var mu sync.Mutex
	var posts []*post
	var group sync.WaitGroup
	for id := range wakers {
		group.Go(func() {
			p := pause{seed: uint32(id)}
			for range rounds {
				own := new(post)
				mu.Lock()
				posts = append(posts, own)
				mu.Unlock()
				d.Wake()
				p.spin()
				for !own.answered.Load() {
					runtime.Gosched()
				}
			}
		})
	}
	for polls, answered := 0, 0; answered < wakers*rounds; polls++ {
		until := driver.Forever
		switch polls % 5 {
		case 1:
			until = 0
		case 3:
			until = d.Now() + int64(polls%7)*int64(time.Microsecond)
		}
		if err := d.Poll(until); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		batch := posts
		posts = nil
		mu.Unlock()
		for _, p := range batch {
			p.answered.Store(true)
		}
		answered += len(batch)
	}
	group.Wait()
}

func TestTimeout(t *testing.T) {
	watchdog(t)
	d := open(t)
	for _, sleep := range []time.Duration{1, 100, time.Microsecond, 50 * time.Microsecond,
		time.Millisecond, 7 * time.Millisecond} {
		for range 20 {
			until := d.Now() + int64(sleep)
			if err := d.Poll(until); err != nil {
				t.Fatal(err)
			}
			if now := d.Now(); now < until && !mayReturnEarly {
				t.Fatalf("a Poll of %v ended %v early", sleep, time.Duration(until-now))
			}
		}
	}
}

// A backend may wake early, but not again and again.
func TestTimeoutAfterWakeDoesNotSpin(t *testing.T) {
	watchdog(t)
	d := open(t)
	for range 20 {
		var waker sync.WaitGroup
		waker.Go(d.Wake)
		sleep(t, d)
		waker.Wait()
		polls := 0
		for until := d.Now() + int64(time.Millisecond); d.Now() < until; polls++ {
			if err := d.Poll(until); err != nil {
				t.Fatal(err)
			}
		}
		if polls > 5 {
			t.Fatalf("%d Polls to sleep for one millisecond", polls)
		}
	}
}

func TestPastInstantsDoNotSleep(t *testing.T) {
	watchdog(t)
	d := open(t)
	for _, until := range []int64{math.MinInt64, -1, 0, 1, d.Now() - 1, d.Now()} {
		if err := d.Poll(until); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClock(t *testing.T) {
	d := open(t)
	if d.Simulation() != nil {
		t.Error("the real driver says that the world is simulated")
	}
	last := d.Now()
	for range 10_000 {
		now := d.Now()
		if now < last {
			t.Fatalf("the clock went back by %v", time.Duration(last-now))
		}
		last = now
	}
	// A reading of time.Now lies between the readings around it, exactly.
	before := d.Now()
	wall := time.Now()
	after := d.Now()
	if i := d.Instant(wall); i < before || i > after {
		t.Errorf("time.Now maps to %d, read between %d and %d", i, before, after)
	}
	if back := d.Time(d.Instant(wall)); !back.Equal(wall) || back.Sub(wall) != 0 {
		t.Errorf("%v maps to an instant and back to %v", wall, back)
	}
	for _, instant := range []int64{0, 1, before, before + 1, before + int64(100*365*24*time.Hour)} {
		if back := d.Instant(d.Time(instant)); back != instant {
			t.Errorf("instant %d maps to a time and back to %d", instant, back)
		}
	}
}

// A time without a monotonic reading can only be placed by the wall clock.
func TestClockMapsWallTimes(t *testing.T) {
	d := open(t)
	before := d.Now()
	in := d.Instant(time.Now().Round(0).Add(time.Hour))
	after := d.Now()
	// The two clocks of the machine may drift apart between two readings.
	const drift = int64(time.Second)
	if in < before+int64(time.Hour)-drift || in > after+int64(time.Hour)+drift {
		t.Errorf("a wall time in one hour maps to %v from here", time.Duration(in-before))
	}
	if got := d.Instant(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); got != driver.Forever {
		t.Errorf("the year 9999 is instant %d, want Forever", got)
	}
	if got := d.Instant(time.Time{}); got >= before {
		t.Errorf("the zero time is instant %d, after %d", got, before)
	}
	if got := d.Instant(d.Time(driver.Forever)); got < before+math.MaxInt64/2 {
		t.Errorf("Forever maps to a time and back to %d", got)
	}
}

func TestWakeAfterClose(t *testing.T) {
	d := open(t)
	sleepers := sync.WaitGroup{}
	for range 4 {
		sleepers.Go(func() {
			for range 1000 {
				d.Wake()
			}
		})
	}
	glance(t, d)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	d.Wake()
	sleepers.Wait()
	if err := d.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestSleepDoesNotAllocate(t *testing.T) {
	d := open(t)
	if n := testing.AllocsPerRun(100, func() {
		d.Poll(d.Now() + int64(time.Microsecond))
		d.Wake()
		d.Poll(driver.Forever)
		d.Poll(0)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

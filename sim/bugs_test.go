package sim

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// A bug is a program with a classic mistake, and the same without it. budget is within
// how many seeds it must be found in 19 of 20 trials.
type bug struct {
	name   string
	budget int
	body   func(ctx context.Context, fixed bool)
}

const ms = time.Millisecond

func group(ctx context.Context, body func(g *rondo.Scope)) {
	_ = rondo.Group(ctx, func(g *rondo.Scope) error { body(g); return nil })
}

// tasks runs functions as the tasks of a group.
func tasks(ctx context.Context, fns ...func(ctx context.Context)) {
	group(ctx, func(g *rondo.Scope) {
		for _, fn := range fns {
			g.Go(func(ctx context.Context) error { fn(ctx); return nil })
		}
	})
}

func yields(ctx context.Context, n int) {
	for range n {
		_ = rondo.Yield(ctx)
	}
}

func call(ctx context.Context) { _ = rondo.Sleep(ctx, ms+time.Duration(Rand(ctx).Int64N(int64(9*ms)))) }

var bugs = []bug{
	{"01 lost update", 100, func(ctx context.Context, fixed bool) {
		x := 0
		add := func(ctx context.Context) {
			v := x
			if fixed {
				x++
			}
			yields(ctx, 1)
			if !fixed {
				x = v + 1
			}
		}
		tasks(ctx, add, func(ctx context.Context) { yields(ctx, 2); add(ctx) })
		Always(ctx, x == 2, "no update is lost")
	}},
	{"01b lost update in noise", 1000, func(ctx context.Context, fixed bool) {
		x := 0
		add := func(after int) func(ctx context.Context) {
			return func(ctx context.Context) {
				yields(ctx, after)
				v := x
				if !fixed {
					yields(ctx, 1)
				}
				x = v + 1
			}
		}
		fns := []func(ctx context.Context){add(3)}
		for range 18 {
			fns = append(fns, func(ctx context.Context) { yields(ctx, 5) })
		}
		tasks(ctx, append(fns, add(5))...)
		Always(ctx, x == 2, "no update is lost")
	}},
	{"03 ABA with equal sleeps", 1000, func(ctx context.Context, fixed bool) {
		value, version := "A", 0
		lost := false
		tasks(ctx, func(ctx context.Context) {
			seen, at := value, version
			_ = rondo.Sleep(ctx, 10*ms)
			if value == seen && (!fixed || version == at) {
				lost = version != at
			}
		}, func(ctx context.Context) {
			_ = rondo.Sleep(ctx, 9*ms)
			value, version = "B", version+1
			_ = rondo.Sleep(ctx, 2*ms)
			value, version = "A", version+1
		})
		Always(ctx, !lost, "a change that was taken back is seen")
	}},
	{"04 double release", 4000, func(ctx context.Context, fixed bool) {
		free := 0
		var done rondo.Event
		released := false
		put := func() {
			if !fixed || !released {
				free++
			}
			released = true
		}
		group(ctx, func(g *rondo.Scope) {
			g.Go(func(ctx context.Context) error {
				call(ctx)
				_ = rondo.Sleep(ctx, 2*ms)
				done.Set()
				put()
				return nil
			})
			if rondo.Timeout(ctx, 12*ms-1*time.Microsecond, done.Wait) != nil {
				put()
			}
		})
		Always(ctx, free == 1, "it is released once")
	}},
	{"05 missed wake-up", 200, func(ctx context.Context, fixed bool) {
		var wake rondo.WaitList
		ready := false
		tasks(ctx, func(ctx context.Context) {
			if ready {
				return
			}
			yields(ctx, 1) // it writes to a log
			if fixed && ready {
				return
			}
			_ = wake.Park(ctx, rondo.Reason{What: "wake-up"})
		}, func(ctx context.Context) {
			yields(ctx, 2)
			ready = true
			wake.Wake()
		})
	}},
	{"06 signal in place of broadcast", 100, cargill},
	{"08 lock order", 200, func(ctx context.Context, fixed bool) {
		var a, b rondo.Mutex
		both := func(first, second *rondo.Mutex) func(ctx context.Context) {
			return func(ctx context.Context) {
				call(ctx)
				_ = first.Lock(ctx)
				yields(ctx, 1)
				_ = second.Lock(ctx)
				second.Unlock()
				first.Unlock()
			}
		}
		if fixed {
			tasks(ctx, both(&a, &b), both(&a, &b))
		} else {
			tasks(ctx, both(&a, &b), both(&b, &a))
		}
	}},
	{"15 cancelled between acquire and defer", 50, func(ctx context.Context, fixed bool) {
		var m rondo.Mutex
		use := func(ctx context.Context) error {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			if fixed {
				defer m.Unlock()
			}
			if err := rondo.Sleep(ctx, 3*ms); err != nil {
				return err
			}
			if !fixed {
				defer m.Unlock()
			}
			return rondo.Sleep(ctx, 3*ms)
		}
		_ = rondo.Timeout(ctx, time.Duration(Rand(ctx).Int64N(int64(8*ms))), use)
		Always(ctx, m.TryLock(), "the lock is free")
	}},
	{"19 drains, then accepts", 2000, func(ctx context.Context, fixed bool) {
		closing, closed, inflight, late := false, false, 0, false
		var fns []func(ctx context.Context)
		for range 3 {
			fns = append(fns, func(ctx context.Context) {
				call(ctx)
				if closing {
					return
				}
				if fixed {
					inflight++
				}
				_ = rondo.Sleep(ctx, 2*ms) // the handshake
				if !fixed {
					inflight++
				}
				late = late || closed
				_ = rondo.Sleep(ctx, ms)
				inflight--
			})
		}
		tasks(ctx, append(fns, func(ctx context.Context) {
			_ = rondo.Sleep(ctx, 20*ms)
			closing = true
			for inflight > 0 {
				_ = rondo.Sleep(ctx, ms)
			}
			closed = true
		})...)
		Always(ctx, !late, "nothing is accepted after the end")
	}},
	{"20 rare order", 7000, func(ctx context.Context, fixed bool) {
		n, seen := 0, 0
		tasks(ctx, func(ctx context.Context) {
			for range 26 {
				n++
				yields(ctx, 1)
			}
		}, func(context.Context) { seen = n })
		Always(ctx, fixed || seen != 25, "it is not read after the 25th")
	}},
}

// cargill is a buffer for one value with one Cond for full and for empty.
func cargill(ctx context.Context, fixed bool) {
	var m rondo.Mutex
	c := rondo.Cond{L: &m}
	full := false
	wake := c.Signal
	if fixed {
		wake = c.Broadcast
	}
	turn := func(to bool) func(ctx context.Context) {
		return func(ctx context.Context) {
			for range 2 {
				if m.Lock(ctx) != nil {
					return
				}
				for full == to {
					if c.Wait(ctx) != nil {
						m.Unlock()
						return
					}
				}
				full = to
				wake()
				m.Unlock()
				yields(ctx, 1)
			}
		}
	}
	tasks(ctx, turn(true), turn(true), turn(false), turn(false))
}

// newSeries returns the series of a Test.
func newSeries(t *testing.T) *search.Series {
	return &search.Series{Settings: Config{}.settings("Test"), T: t, Before: t.Failed()}
}

// fails reports whether a body fails with a seed of Test.
func fails(t *testing.T, seed uint64, body func(ctx context.Context)) bool {
	s := newSeries(t)
	a := s.NewRun(s.Choices(seed))
	return s.Verdict(a, newLoopWorld(&attempt{Run: a}).execute(body)) != ""
}

// TestBugs: each bug is found within its budget, and its repaired twin passes. With
// RONDO_BUGS=n there are n trials.
func TestBugs(t *testing.T) {
	trials, twins := 3, 300
	if testing.Short() {
		twins = 50
	}
	if n, err := strconv.Atoi(os.Getenv("RONDO_BUGS")); err == nil {
		trials, twins = n, 10_000
	}
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			var until []int
			for trial := range trials {
				first, n := uint64(trial*b.budget)+1, 1
				for n <= b.budget && !fails(t, first+uint64(n)-1, func(ctx context.Context) { b.body(ctx, false) }) {
					n++
				}
				until = append(until, n)
			}
			slices.Sort(until)
			p95 := until[(len(until)*95+99)/100-1]
			t.Logf("median %d, 95 %% %d, worst %d, budget %d", until[len(until)/2], p95, until[len(until)-1], b.budget)
			if p95 > b.budget {
				t.Errorf("seeds until found: %v, budget %d", until, b.budget)
			}
			for seed := range uint64(twins) {
				if fails(t, seed+1, func(ctx context.Context) { b.body(ctx, true) }) {
					t.Fatal("without the mistake seed", seed+1, "fails")
				}
			}
		})
	}
}

// TestBugsShrink: of what a seed chose until it found a bug, a few choices are left.
func TestBugsShrink(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			body := func(ctx context.Context) { b.body(ctx, false) }
			seed := uint64(1)
			for ; !fails(t, seed, body); seed++ {
			}
			s := newSeries(t)
			run := func(one *choice.Candidate) (made []choice.Choice, failed bool) {
				c := s.Choices(seed)
				c.Records = true
				if one != nil {
					c.Take(*one)
				}
				a := s.NewRun(c)
				failed = s.Verdict(a, newLoopWorld(&attempt{Run: a}).execute(body)) != ""
				return c.Made, failed
			}
			made, _ := run(nil)
			search := &choice.Shrinker{Best: made, Until: time.Now().Add(time.Hour)}
			from := len(search.Best)
			for one := range search.Candidates() {
				search.Made, search.Failed = run(&one)
			}
			t.Logf("seed %d: %d choices, %d are left after %d runs: %s", seed, from, len(search.Best), search.Runs, choice.Format(search.Best))
			if len(search.Best) > 6 || search.Runs > 500 {
				t.Error("too many")
			}
			if _, failed := run(&choice.Candidate{List: search.Best}); !failed {
				t.Error("what is left does not fail")
			}
		})
	}
}

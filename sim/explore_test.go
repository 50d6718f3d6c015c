package sim_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestExploreIsExhaustive counts the orders of bodies for which arithmetic knows
// the number, and holds that none comes twice.
func TestExploreIsExhaustive(t *testing.T) {
	for _, c := range []struct{ tasks, turns, want int }{
		{1, 1, 1}, {1, 5, 1}, {2, 1, 2}, {2, 3, 8}, {3, 1, 6}, {3, 3, 216}, {4, 1, 24}, {4, 2, 576}, {5, 1, 120},
	} {
		seen, runs := map[string]bool{}, 0
		sim.Explore(t, func(ctx context.Context) {
			runs++
			var order []byte
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range c.tasks {
					g.Go(func(ctx context.Context) error {
						for turn := range c.turns {
							if turn > 0 {
								_ = rondo.Yield(ctx)
							}
							order = append(order, byte('a'+i))
						}
						return nil
					})
				}
				return nil
			})
			seen[string(order)] = true
		})
		if runs != c.want || len(seen) != c.want {
			t.Errorf("%d tasks of %d turns: %d runs, %d orders, want %d", c.tasks, c.turns, runs, len(seen), c.want)
		}
	}
}

// philosophers has five of them, who think for different times, take the left fork, and
// then the right one.
func philosophers(ctx context.Context) {
	var forks [5]rondo.Mutex
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range forks {
			g.Go(func(ctx context.Context) error {
				for range i % 2 {
					_ = rondo.Yield(ctx)
				}
				for _, f := range []*rondo.Mutex{&forks[i], &forks[(i+1)%5]} {
					if err := f.Lock(ctx); err != nil {
						return err
					}
					defer f.Unlock()
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return nil
	})
}

// TestPhilosophers: a mistake that few deviations from the order of a real loop lead to is
// found among the first orders.
func TestPhilosophers(t *testing.T) {
	runs := 0
	text := failing(t, func(t *tester) {
		sim.Explore(t, func(ctx context.Context) { runs++; philosophers(ctx) })
	})
	contains(t, text, "rondo: deadlock", "replay: RONDO_SEED=x:")
	if runs < 2 || runs >= 10_000 {
		t.Error(runs, "orders")
	}
}

// TestFewDeviationsFirst: the paths are tried by the number of their deviations.
func TestFewDeviationsFirst(t *testing.T) {
	last := 0
	sim.Explore(t, func(ctx context.Context) {
		n := 0
		for range 5 {
			if sim.Choose(ctx, 3) != 0 {
				n++
			}
		}
		if n < last {
			t.Error(n, "deviations after", last)
		}
		last = n
	})
	if last != 5 {
		t.Error("at most", last, "deviations")
	}
}

// TestExploreIsNoProof: what was not tried is said.
func TestExploreIsNoProof(t *testing.T) {
	body := func(ctx context.Context) { sim.Rand(ctx).IntN(2); shuffle(ctx, 3) }
	tried, _ := try(func(t *tester) { sim.Explore(t, body) })
	contains(t, tried.Text(), "sim: 6 orders, with each timer exact; the body calls Rand, of whose numbers one sequence was tried")
	text := failing(t, func(t *tester) { sim.Config{MaxOrders: 5}.Explore(t, body) })
	contains(t, text, "all with fewer than 2 choices that are not the first were tried, and none failed; the body calls Rand")
	tried, _ = try(func(t *tester) { sim.Explore(t, func(ctx context.Context) { shuffle(ctx, 3) }) })
	if got := tried.Text(); got != "sim: 6 orders, with each timer exact\n" {
		t.Error(got)
	}
}

// TestExploreCallbacks: callbacks of timers that are due at one instant run in every order. Those
// of CallSoon run in one order, so where they are all that is ready nothing is tried again.
func TestExploreCallbacks(t *testing.T) {
	explore := func(call func(l *rondo.Loop, fn func())) (orders map[string]bool, runs int) {
		orders = map[string]bool{}
		sim.Explore(t, func(ctx context.Context) {
			runs++
			var order []byte
			for _, letter := range []byte("abc") {
				call(rondo.LoopOf(ctx), func() { order = append(order, letter) })
			}
			_ = rondo.Sleep(ctx, time.Hour)
			orders[string(order)] = true
		})
		return orders, runs
	}
	later := func(l *rondo.Loop, fn func()) { l.CallLater(time.Second, fn) }
	if orders, runs := explore(later); len(orders) != 6 {
		t.Errorf("of timers it tries %v in %d runs", orders, runs)
	}
	soon := func(l *rondo.Loop, fn func()) { l.CallSoon(fn) }
	if orders, runs := explore(soon); len(orders) != 1 || !orders["abc"] || runs != 1 {
		t.Errorf("of CallSoon it tries %v in %d runs", orders, runs)
	}
}

// TestExploreLate: timers that are at most Late apart fire in either order, others do not, and
// the list of choices repeats such an order.
func TestExploreLate(t *testing.T) {
	fired := func(ctx context.Context) string {
		var order []byte
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i, at := range []time.Duration{10, 12, 20} {
				g.Go(func(ctx context.Context) error {
					_ = rondo.Sleep(ctx, at*time.Millisecond)
					order = append(order, byte('a'+i))
					return nil
				})
			}
			return nil
		})
		return string(order)
	}
	for late, want := range map[time.Duration][]string{
		0: {"abc"}, time.Millisecond: {"abc"}, 2 * time.Millisecond: {"abc", "bac"},
		8 * time.Millisecond:  {"abc", "acb", "bac"},
		10 * time.Millisecond: {"abc", "acb", "bac", "bca", "cab", "cba"},
	} {
		seen := map[string]bool{}
		sim.Config{Late: late}.Explore(t, func(ctx context.Context) { seen[fired(ctx)] = true })
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
			t.Errorf("with timers up to %v late they fire as %q, want %q", late, got, want)
		}
	}
	late := sim.Config{Late: 2 * time.Millisecond}
	text := failing(t, func(t *tester) {
		late.Explore(t, func(ctx context.Context) { sim.Always(ctx, fired(ctx) == "abc", "in order") })
	})
	replay := regexp.MustCompile(`RONDO_SEED=(x:[0-9,]+)`).FindStringSubmatch(text)
	if replay == nil {
		t.Fatal(text)
	}
	t.Setenv("RONDO_SEED", replay[1])
	late.Explore(t, func(ctx context.Context) {
		if order := fired(ctx); order != "bac" {
			t.Errorf("the order %s repeats %q", replay[1], order)
		}
	})
}

package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// meet runs two hosts that each hand two letters to the test, one at a step, and calls
// seen with the order in which they came.
func meet(ctx context.Context, w *sim.World, seen func(order string)) {
	w.Explore(false)
	var order []byte
	var begin [2]rondo.Event
	var loops [2]*rondo.Loop
	home := rondo.LoopOf(ctx)
	host := func(i int) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			loops[i] = rondo.LoopOf(ctx)
			if err := begin[i].Wait(ctx); err != nil {
				return err
			}
			for n := range 2 {
				letter := byte('a' + 2*i + n)
				if err := home.Post(func() { order = append(order, letter) }); err != nil {
					return err
				}
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		}
	}
	w.Host("a", host(0))
	w.Host("b", host(1))
	_ = rondo.Sleep(ctx, 1)
	for i, l := range loops {
		_ = l.Post(begin[i].Set)
	}
	w.Explore(true)
	_ = rondo.Sleep(ctx, 1)
	seen(string(order))
}

// TestExploreCluster: what two hosts hand to a third one comes in every order in which each
// host's own letters keep theirs, and in no other.
func TestExploreCluster(t *testing.T) {
	orders := map[string]int{}
	runs := 0
	sim.Config{}.ExploreCluster(t, func(ctx context.Context, w *sim.World) {
		runs++
		meet(ctx, w, func(order string) { orders[order]++ })
	})
	for order := range orders {
		if len(order) != 4 {
			t.Errorf("the letters came as %q", order)
		}
	}
	if len(orders) != 6 || runs > 3_000 {
		t.Errorf("%d runs, with the orders %v", runs, orders)
	}
}

// TestExploreClusterFinds: a mistake that needs one host to be slower than another is found
// and its order is repeated; with all orders switched off there is one.
func TestExploreClusterFinds(t *testing.T) {
	mistake := func(ctx context.Context, w *sim.World) {
		meet(ctx, w, func(order string) {
			if strings.HasPrefix(order, "cd") {
				panic("b was faster than a")
			}
		})
	}
	text := failing(t, func(t *tester) { sim.Config{}.ExploreCluster(t, mistake) })
	contains(t, text, "b was faster than a", "replay: RONDO_SEED=x:")
	order, _, _ := strings.Cut(text[strings.Index(text, "RONDO_SEED=")+len("RONDO_SEED="):], " ")
	t.Setenv("RONDO_SEED", order)
	runs := 0
	text = failing(t, func(t *tester) {
		sim.Config{}.ExploreCluster(t, func(ctx context.Context, w *sim.World) { runs++; mistake(ctx, w) })
	})
	contains(t, text, "b was faster than a")
	if runs != 1 {
		t.Errorf("%d runs of one order", runs)
	}
}

// TestExploreOneOrder: without exploring there is one order, and Config.Deviations limits
// the others.
func TestExploreOneOrder(t *testing.T) {
	runs := 0
	sim.Config{}.ExploreCluster(t, func(ctx context.Context, w *sim.World) {
		w.Explore(false)
		runs++
		w.Host("a", rondo.Yield)
		w.Host("b", rondo.Yield)
		_ = rondo.Sleep(ctx, 1)
	})
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
	tried, _ := try(func(t *tester) {
		sim.Config{Deviations: 1}.Explore(t, func(ctx context.Context) { shuffle(ctx, 3) })
	})
	contains(t, tried.Text(), "sim: 4 orders, with each timer exact, all with up to 1 choices that are not the first")
}

// TestEndOfHostsThatWait: a run whose hosts wait for each other as they end is reported for
// what it is, a deadlock.
func TestEndOfHostsThatWait(t *testing.T) {
	text := failing(t, func(t *tester) {
		sim.Config{Seeds: 1, MaxSteps: 100_000}.Cluster(t, func(ctx context.Context, w *sim.World) {
			ended, never := rondo.NewFuture[int](ctx), rondo.NewFuture[int](ctx)
			w.Host("a", func(ctx context.Context) error {
				defer ended.Set(0)
				_, err := never.Wait(ctx)
				return err
			})
			w.Host("b", func(ctx context.Context) error {
				return rondo.Shield(ctx, func(ctx context.Context) error {
					_, err := ended.Wait(ctx)
					return err
				})
			})
			_, _ = never.Wait(ctx)
		})
	})
	contains(t, text, "rondo: deadlock: nothing can run on any host")
}

// TestExploreClusterCountsOrders: an order that comes in several runs is counted once. Hosts that
// share nothing have one; two that each hand two letters to a third, which takes them when it
// likes, have one for each way in which it sees them come.
func TestExploreClusterCountsOrders(t *testing.T) {
	counted := func(body func(ctx context.Context, w *sim.World)) (orders, runs int) {
		tried, _ := try(func(t *tester) { sim.Config{}.ExploreCluster(t, body) })
		if n, err := fmt.Sscanf(tried.Text(), "sim: %d orders in %d runs, with each timer exact\n", &orders, &runs); n != 2 {
			t.Fatal(err, tried.Text())
		}
		return orders, runs
	}
	apart := func(ctx context.Context, w *sim.World) {
		w.Host("a", rondo.Yield)
		w.Host("b", rondo.Yield)
		_ = rondo.Sleep(ctx, 1)
	}
	if orders, runs := counted(apart); orders != 1 || runs < 2 {
		t.Error(orders, "orders of hosts that share nothing, in", runs, "runs")
	}
	chosen := func(ctx context.Context, w *sim.World) {
		w.Host("a", func(ctx context.Context) error { sim.Choose(ctx, 3); return nil })
		_ = rondo.Sleep(ctx, 1)
	}
	if orders, runs := counted(chosen); orders != 3 || runs < 3 {
		t.Error(orders, "orders of a host that chooses one of three, in", runs, "runs")
	}
	came := map[string]bool{}
	orders, runs := counted(func(ctx context.Context, w *sim.World) {
		meet(ctx, w, func(order string) { came[order] = true })
	})
	// For each way in which the letters come, several ways in which the turns of the third host
	// fall between them: 28 as long as these turns are what they are.
	if len(came) != 6 || orders != 28 || orders > runs {
		t.Errorf("%d orders in %d runs, in which the letters came as %v", orders, runs, came)
	}
}

// TestExploreClusterBusy: what a host hands to a busy one comes after each of its turns, in some
// order, and a host that yields until another has done something is not alone for ever.
func TestExploreClusterBusy(t *testing.T) {
	came := map[int]bool{}
	sim.Config{MaxSteps: 10_000}.ExploreCluster(t, func(ctx context.Context, w *sim.World) {
		turns, at := 0, -1
		home := rondo.LoopOf(ctx)
		w.Host("a", func(context.Context) error { return home.Post(func() { at = turns }) })
		beside := rondo.Go(ctx, func(ctx context.Context) error {
			for rondo.Yield(ctx) == nil {
			}
			return nil
		})
		for range 3 {
			_ = rondo.Yield(ctx)
			turns++
		}
		beside.Cancel(nil)
		_ = rondo.Sleep(ctx, 1)
		came[at] = true
	})
	if fmt.Sprint(came) != fmt.Sprint(map[int]bool{1: true, 2: true, 3: true}) {
		t.Error("it came after so many turns:", came)
	}
	sim.Config{MaxSteps: 10_000}.ExploreCluster(t, func(ctx context.Context, w *sim.World) {
		w.Explore(false)
		done := false
		w.Host("a", func(context.Context) error { done = true; return nil })
		for !done {
			_ = rondo.Yield(ctx)
		}
	})
}

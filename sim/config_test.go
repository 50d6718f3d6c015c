package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestConfig: the fields say how much is tried.
func TestConfig(t *testing.T) {
	runs := 0
	sim.Config{Seeds: 30, SeedsShort: 30}.Test(t, func(ctx context.Context) { runs++ })
	if runs != 50 {
		t.Error("30 seeds ran", runs, "times")
	}
	runs = 0
	sim.Config{Seeds: 2}.Test(t, func(ctx context.Context) { runs++ })
	if runs != 4 {
		t.Error("2 seeds ran", runs, "times, which SeedsShort may not raise")
	}
	runs = 0
	sim.Config{Seeds: 2, Once: true}.Test(t, func(ctx context.Context) { runs++ })
	if runs != 2 {
		t.Error("2 seeds ran", runs, "times, and each was to run once")
	}
	runs = 0
	sim.Config{MaxOrders: 6}.Explore(t, func(ctx context.Context) { runs++; shuffle(ctx, 3) })
	if runs != 6 {
		t.Error("3 tasks have", runs, "orders")
	}
	text := failing(t, func(t *tester) {
		sim.Config{MaxOrders: 5}.Explore(t, func(ctx context.Context) { shuffle(ctx, 3) })
	})
	contains(t, text, "sim: there are more than 5 orders: ")
}

// TestConfigFor: a test goes on with further seeds for some time, with at least one however
// short it is. How many is up to the clock, which advances in steps of 16 ms on some systems.
func TestConfigFor(t *testing.T) {
	seen := map[int]bool{}
	body := func(ctx context.Context) { seen[sim.Choose(ctx, 1<<30)] = true }
	sim.Config{Seeds: 3, SeedsShort: 3, For: 5 * time.Millisecond}.Test(t, body)
	if len(seen) < 4 {
		t.Error(len(seen), "seeds")
	}
	clear(seen)
	t.Setenv("RONDO_FOR", "1ns")
	sim.Config{Seeds: 3, SeedsShort: 3}.Test(t, body)
	if len(seen) < 4 {
		t.Error(len(seen), "seeds")
	}
	t.Setenv("RONDO_FOR", "soon")
	text := failing(t, func(t *tester) { sim.Test(t, body) })
	contains(t, text, `sim: RONDO_FOR="soon": want a duration as 1s`)
	t.Setenv("RONDO_FOR", "")
	defer func() {
		contains(t, fmt.Sprint(recover()), "sim: Test with Config.For = -1ns: use a positive duration")
	}()
	sim.Config{For: -1}.Test(t, body)
}

// TestConfigExact: with Exact no timer is late in any seed; without it some are, from seed
// 21 on.
func TestConfigExact(t *testing.T) {
	for _, exact := range []bool{true, false} {
		late := map[bool]int{}
		seeds := 0
		sim.Config{Seeds: 200, SeedsShort: 200, Exact: exact}.Test(t, func(ctx context.Context) {
			seeds++
			start := rondo.Now(ctx)
			for range 20 {
				_ = rondo.Sleep(ctx, time.Millisecond)
			}
			if rondo.Now(ctx).Sub(start) != 20*time.Millisecond {
				late[seeds <= 40]++
			}
		})
		if late[true] != 0 || exact != (late[false] < 40) || exact && late[false] != 0 {
			t.Error("exact", exact, "late", late)
		}
	}
}

// TestConfigSteps: a run of more than MaxSteps is a livelock. The loops are left where they
// are, so this runs in another process; see TestLivelock.
func TestConfigSteps(t *testing.T) {
	contains(t, runVictim(t, "steps", ""), "seed 1: livelock: no end after 1000 steps", "main is ready")
	contains(t, runVictim(t, "goes on", ""), "seed 1: livelock: no end after 10000 steps", "busy is running")
	contains(t, runVictim(t, "orders", ""), "order 1: livelock: no end after 1000 steps", "RONDO_SEED=x:0 ")
}

// TestConfigRefused: fields that are negative, and those of a cluster where there is none.
func TestConfigRefused(t *testing.T) {
	body := func(context.Context) { t.Error("it ran") }
	for _, c := range []struct {
		want   string
		config sim.Config
	}{
		{"Config.Seeds = -1", sim.Config{Seeds: -1}},
		{"Config.SeedsShort = -2", sim.Config{SeedsShort: -2}},
		{"Config.MaxOrders = -3", sim.Config{MaxOrders: -3}},
		{"Config.MaxSteps = -4", sim.Config{MaxSteps: -4}},
		{"Config.Late = -1ns", sim.Config{Late: -1}},
		{"Config.Network: that is for Cluster alone", sim.Config{Network: sim.Network{PacketLoss: 0.1}}},
		{"Config.Faults: that is for Cluster alone", sim.Config{Faults: sim.Faults{Longest: sim.Longest{Pause: 1}}}},
		{"Config.Limit: that is for Cluster alone", sim.Config{Limit: time.Minute}},
	} {
		for call, run := range map[string]func(){
			"sim: Test with ":    func() { c.config.Test(t, body) },
			"sim: Explore with ": func() { c.config.Explore(t, body) },
		} {
			func() {
				defer func() {
					if s := fmt.Sprint(recover()); !strings.HasPrefix(s, call+c.want) || !strings.Contains(s, "use a ") {
						t.Error(s)
					}
				}()
				run()
			}()
		}
	}
}

// TestOrderOfNoChoice: the order in which nothing but the first is chosen has a
// name that RONDO_SEED takes.
func TestOrderOfNoChoice(t *testing.T) {
	t.Setenv("RONDO_SEED", "x:0")
	text := failing(t, func(t *tester) {
		sim.Explore(t, func(ctx context.Context) { _ = rondo.Yield(ctx); t.FailNow() })
	})
	contains(t, text, "sim: order x:0: the test failed", "replay: RONDO_SEED=x:0 go test")
}

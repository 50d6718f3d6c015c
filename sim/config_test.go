package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

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
	sim.Config{MaxOrders: 6}.Explore(t, func(ctx context.Context) { runs++; shuffle(ctx, 3) })
	if runs != 6 {
		t.Error("3 tasks have", runs, "orders")
	}
	text := failing(t, func(t *tester) {
		sim.Config{MaxOrders: 5}.Explore(t, func(ctx context.Context) { shuffle(ctx, 3) })
	})
	contains(t, text, "sim: there are more than 5 orders: ")
}

// TestConfigSteps: a run of more than MaxSteps is a livelock. The loops are left where they
// are, so this runs in another process; see TestLivelock.
func TestConfigSteps(t *testing.T) {
	contains(t, runVictim(t, "steps", ""), "seed 1: livelock: no end after 1000 steps", "main is ready")
	contains(t, runVictim(t, "orders", ""), "order 1: livelock: no end after 1000 steps", "RONDO_SEED=x:0 ")
}

func TestConfigNegative(t *testing.T) {
	body := func(context.Context) { t.Error("it ran") }
	for _, c := range []struct {
		want   string
		config sim.Config
	}{
		{"Config.Seeds = -1", sim.Config{Seeds: -1}},
		{"Config.SeedsShort = -2", sim.Config{SeedsShort: -2}},
		{"Config.MaxOrders = -3", sim.Config{MaxOrders: -3}},
		{"Config.MaxSteps = -4", sim.Config{MaxSteps: -4}},
	} {
		for call, run := range map[string]func(){
			"sim: Test with ":    func() { c.config.Test(t, body) },
			"sim: Explore with ": func() { c.config.Explore(t, body) },
		} {
			func() {
				defer func() {
					if s := fmt.Sprint(recover()); !strings.HasPrefix(s, call+c.want+": ") {
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

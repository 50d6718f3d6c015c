package sim

// An attempt is what all loops of one run share, beside what its report needs.

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/sim/internal/chance"
	"github.com/rondo-go/rondo/sim/internal/order"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// An attempt is one run of a body. All loops of the run share it.
type attempt struct {
	*search.Run
	rand    *rand.Rand // of Rand; nil until it is asked for
	refused int        // how many waits have failed at once
	stamps  int64      // of Histories
	bubbles *testing.T // runs the loop in a bubble of this test; nil: in none
}

// series runs body for the stored failures and the seeds. call is for panics, and execute runs
// the body once.
func (c Config) series(t testing.TB, call string, execute func(a *attempt) search.Outcome) {
	t.Helper()
	s := c.settings(call)
	test, ok := t.(*testing.T)
	if c.Goroutines && !ok {
		panic("sim: Config.Goroutines needs Test with a *testing.T, or Cluster: use a Config without it")
	}
	if !c.Goroutines {
		test = nil
	} else if call == "Cluster" {
		defer chance.Still()()
	}
	search.Seeds(t, s, call == "Cluster", func(r *search.Run) search.Outcome { return execute(&attempt{Run: r, bubbles: test}) })
}

// explore runs body in each order. execute runs it once.
func (c Config) explore(t testing.TB, call string, execute func(a *attempt) search.Outcome) {
	t.Helper()
	s := c.settings(call)
	if c.Goroutines {
		panic("sim: Config.Goroutines needs Test with a *testing.T, or Cluster: use a Config without it")
	}
	s.Hosts = call == "ExploreCluster"
	search.Orders(t, s, func(r *search.Run) search.Outcome { return execute(&attempt{Run: r}) })
}

// endsShare reports whether a task of the loop that has the order o gives the others a turn, at
// the operation that it calls.
func (a *attempt) endsShare(o *order.Order, task uint64) bool {
	if !o.EndsShare(task) {
		return false
	}
	if a.Choices.Says != nil {
		called := stacks.CalledAs()
		a.Choices.Say(func(func(uint64) string) string { return called })
	}
	return true
}

// A simulated driver knows the attempt that it is a part of.
type simulated interface{ attempt() *attempt }

// attemptOf returns the run that ctx belongs to, or nil.
func attemptOf(ctx context.Context) *attempt {
	if l := kernel.Of(ctx); l != nil {
		if d, ok := l.Driver().(simulated); ok {
			return d.attempt()
		}
	}
	return nil
}

// mustAttempt is attemptOf for a call that makes no sense outside a simulation.
func mustAttempt(ctx context.Context, call string) *attempt {
	a := attemptOf(ctx)
	if a == nil {
		panic("sim: " + call + " with a ctx that does not come from a simulation: use the ctx of the body of Test, Explore or Cluster, or one made from it")
	}
	return a
}

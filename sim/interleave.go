package sim

// The steps of several loops interleave: a seed chooses some of the ways, and ExploreCluster
// tries all of them, besides the order of tasks on each loop.
//
// The law: other loops do not see what a loop does by itself. So another loop may go first only
// where a turn begins, which is when a loop takes what others have handed in, and where one does
// something to what loops share (Step). One that was let go first does its next such step
// without being asked again.

import (
	"context"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// ExploreCluster is [Config.Explore] for a cluster: body runs once for each order of the tasks on
// each host and of the hosts' steps. If one host hands something to another, as package shard
// does, ExploreCluster tries every number of turns of the other before it arrives. The network
// and the disks work without faults and always take the same time; nothing is late, except timers
// of all hosts if c.Late is set. c.Faults is not used. The log counts orders and runs: runs that
// differ only in which of two hosts goes first, where neither sees the other, are one order. What
// hosts see of each other through variables that they share, without handing anything over, is
// not counted.
//
// The number of orders grows even faster than that of one loop. Begin with a small
// c.Deviations.
func (c Config) ExploreCluster(t testing.TB, body func(ctx context.Context, w *World)) {
	t.Helper()
	if body == nil {
		panic("sim: ExploreCluster with a nil function: it needs the body of the test")
	}
	c.checkRates()
	c.explore(t, "ExploreCluster", func(a *attempt) search.Outcome { return newCluster(a, c).execute(body) })
}

// Explore says whether ExploreCluster tries all orders from now on, which it does from the
// beginning, or only the first one. So an order that is of no interest, such as that in which
// hosts begin and end, need not be multiplied with those that are. In Cluster it does
// nothing. It never suspends.
func (w *World) Explore(all bool) {
	if walk := w.run.Choices.Walk; walk != nil {
		walk.Fixed = !all
	}
}

// explored is what a process knows of the steps of an exploration.
type explored struct {
	granted bool // it goes on at its next step
	streak  int  // steps at which it went on
}

// patience is how often in a row a loop goes on if nothing else is chosen: one that
// waits for another by Yield must not wait for ever.
const patience = pollSteps

// explores reports whether all orders of the hosts' steps are tried.
func (p *process) explores() bool {
	return p.world.run.Choices.Walk != nil && p.killed == nil && !p.world.ending
}

func (p *process) Prompt() bool { return p.offloads.Prompt() }

// mayGoOn reports whether a loop that is busy goes on. Whether others go first is
// chosen at its steps.
func (p *process) mayGoOn() bool {
	if !p.explores() || p.explored.streak >= patience {
		p.explored.streak = 0
		return false
	}
	p.explored.streak++
	return true
}

// Step is that of driver.Host.
func (p *process) Step() {
	p.failsEarly()
	p.letOthers()
	if w := p.world; p.explores() {
		w.common = choice.Mix(w.common ^ p.history)
		p.sees(w.common)
	}
}

// sees notes something that the loop gets from the world, in an exploration. Two runs in which
// each loop sees the same, in the same order, are one order: what a loop does is a function of
// that.
func (l *lane) sees(what uint64) {
	if l.host.world.run.Choices.Walk != nil {
		l.history = choice.Mix(l.history ^ what)
	}
}

// hears notes that the process that runs may hand something to p.
func (p *process) hears() {
	if from := p.world.running; from != nil && from != p {
		p.sees(from.history)
	}
}

// seen returns what all loops have seen.
func (w *World) seen() (sum uint64) {
	for _, l := range w.lanes {
		sum = choice.Mix(sum ^ l.history)
	}
	return sum
}

// letOthers lets other processes go first, if that is chosen.
func (p *process) letOthers() {
	w := p.world
	if !p.explores() {
		if w.aside > 0 && len(w.ready) > 0 && p.killed == nil && !w.ending && w.steps.Rarely(w.aside) {
			w.makeReady(p)
			p.park()
		}
		return
	}
	if p.explored.granted {
		p.explored.granted = false
		return
	}
	w.takeWoken()
	if w.run.Choices.Walk.Fixed {
		return
	}
	if len(w.ready) == 0 || w.ready[0].killed != nil {
		return
	}
	i := w.turns.Pick(1 + len(w.ready))
	if i == 0 {
		return
	}
	w.granted = w.ready[i-1]
	w.granted.explored.granted = true
	w.ready = slices.Insert(w.ready, 0, p)
	p.queued = true
	p.park()
}

package sim

// This file has the attempt: one run of a body, with what it is made of and what is
// known of it afterwards.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// An attempt is one run of a body. All loops of the run share it.
type attempt struct {
	choices  *choices
	label    string // for reports: "seed 7"
	maxSteps int
	trace    *trace     // nil: none is kept
	rand     *rand.Rand // of Rand; nil until it is asked for
	probes   *probes
	clock    func() int64  // virtual time; set by what runs the body
	shown    atomic.Int64  // the virtual time since the run began, at the last jump of the clock
	steps    atomic.Uint64 // other goroutines read it to see that the run makes progress
	refused  int           // how many waits have failed at once
	stamps   int64         // of Histories
	offloads *offloads     // of all loops; set by what runs the body
	bubbles  *testing.T    // runs the loop in a bubble of this test; nil: in none
	violated string        // the Always that was false
}

// elapsed is the virtual time since the run began.
func (a *attempt) elapsed() time.Duration {
	if a.clock == nil {
		return 0
	}
	return time.Duration(a.clock() - origin)
}

// newAttempt returns an attempt at a run in which c chooses.
func (s *series) newAttempt(c *choices) *attempt {
	a := &attempt{choices: c, label: "seed " + formatSeed(c.seed), maxSteps: s.MaxSteps, probes: &s.probes}
	if s.Goroutines {
		a.bubbles, _ = s.t.(*testing.T)
	}
	return a
}

// tell makes the attempt keep an account of its choices, and what is needed for a
// picture.
func (a *attempt) tell() {
	a.choices.records = true
	a.trace = &trace{keep: true, draws: true}
	a.choices.account = &account{run: a, tasks: make(map[uint64]*rondo.Task)}
}

// ended is elapsed, for a run that ended so.
func (a *attempt) ended(o outcome) time.Duration {
	if o.running {
		return time.Duration(a.shown.Load())
	}
	return a.elapsed()
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

// Rand returns the random numbers of the run that ctx belongs to: the same numbers
// whenever the same seed runs, and always the same in [Explore]. They do not affect
// the choice of orders, and they stay when a failure is shrunk: what matters to a
// failure is better chosen by [Choose]. Rand never suspends. It panics if ctx does
// not come from a simulation. Like everything of a loop, the result may be used only on
// it.
func Rand(ctx context.Context) *rand.Rand {
	a := mustAttempt(ctx, "Rand")
	if a.choices.walk != nil {
		a.choices.walk.random = true
	}
	if a.rand == nil {
		a.rand = stream(a.choices.seed, forBody)
	}
	return a.rand
}

// Choose returns one of the numbers from 0 to n-1. In [Test] the seed chooses, each
// number as likely as the others, and a failure is shrunk towards 0. [Explore] runs
// the body once for each number. Choose never suspends. It panics if n is not positive
// or ctx does not come from a simulation.
func Choose(ctx context.Context, n int) int {
	a := mustAttempt(ctx, "Choose")
	if n <= 0 {
		panic(fmt.Sprintf("sim: Choose among %d things: use a positive number", n))
	}
	if n == 1 {
		return 0
	}
	who := taskNumber(ctx)
	a.choices.who = who
	v := a.choices.at(forChoose, who).pick(n)
	a.trace.add(event{now: a.clock(), who: who, kind: drew, n: int32(v)})
	return v
}

// taskNumber returns a number of the task of ctx that no other task of the run has.
func taskNumber(ctx context.Context) uint64 {
	who, _ := kernel.TaskOf(ctx)
	if h := HostOf(ctx); h != nil {
		return h.number<<32 | who.ID
	}
	return who.ID
}

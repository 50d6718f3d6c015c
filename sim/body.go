package sim

// A body varies its own run with Choose and Rand, and says what must be true each time, with
// Always, and once, with Sometimes.

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// Rand returns the random numbers of the run that ctx belongs to: the same numbers whenever the
// same seed runs, and always the same in [Explore]. They do not affect the order in which things
// run, and shrinking a failure does not change them. For a value that matters to a failure use
// [Choose]. Rand never suspends. It panics if ctx does not come from a simulation. Like
// everything of a loop, the result may be used only on it.
func Rand(ctx context.Context) *rand.Rand {
	a := mustAttempt(ctx, "Rand")
	if a.Choices.Walk != nil {
		a.Choices.Walk.Random = true
	}
	if a.rand == nil {
		a.rand = choice.Stream(a.Choices.Seed, choice.ForBody)
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
	a.Choices.Who = who
	v := a.Choices.At(choice.ForChoose, who).Pick(n)
	if p := processOf(ctx); p != nil {
		p.sees(uint64(v))
	}
	a.Trace.Add(record.Event{Now: a.Clock(), Who: who, Kind: record.Drew, N: int32(v)})
	return v
}

// taskNumber returns the number of the task of ctx in reports, which no other task has that lives.
func taskNumber(ctx context.Context) uint64 {
	who, _ := kernel.TaskOf(ctx)
	if p := processOf(ctx); p != nil {
		return p.number<<32 | who.ID
	}
	return who.ID
}

// Sometimes records whether cond is true. It must be true at least once in all the seeds of a
// test, or in all the orders of Explore. Otherwise the test fails in the end, because it has
// never reached the case that it is meant to test. A test that runs fewer seeds than its Config
// has, as with -short or RONDO_SEED, does not check that. Sometimes never suspends. Outside a
// simulation it does nothing, nor in a program of a host that was killed.
func Sometimes(ctx context.Context, cond bool, name string) {
	if a := attemptOf(ctx); a != nil && !killed(ctx) {
		a.Probes.Note(name, cond)
	}
}

// killed reports whether ctx is of a program that was killed: it goes on only because Go cannot
// end a goroutine, so what it says of its state is no part of the test.
func killed(ctx context.Context) bool {
	p := processOf(ctx)
	return p != nil && p.killed != nil
}

// Always fails the run if cond is not true: it ends the loop with a panic that has the
// name and the stack, and the report names it also if something recovers that panic.
// In a program of a host that was killed the panic only ends the program: the waits of one
// fail, which those of a real program never see. Always never suspends. Outside a simulation it
// does nothing.
func Always(ctx context.Context, cond bool, name string) {
	a := attemptOf(ctx)
	if a == nil || cond {
		return
	}
	if a.Violated == "" && !a.Stopped && !killed(ctx) {
		a.Violated = fmt.Sprintf("%q, which must always be true, is false", name)
		a.Account.Fails(taskNumber(ctx))
	}
	panic(fmt.Sprintf("sim: %q, which must always be true, is false", name))
}

// Package sim runs tests of concurrent code on a simulated world, in which every
// run can be repeated exactly.
//
// The code under test is the code that runs in production: sim only puts
// another driver under the loop. On that driver
//
//   - the clock stands still while anything can run, and then jumps to the next
//     timer, so that no test ever sleeps;
//   - the order in which what is ready runs is the driver's choice. Everything
//     that Rondo leaves open is tried: of the tasks and callbacks that are ready
//     when a turn of the loop begins any may be first, and so may any of the
//     timers that are due at one instant;
//   - when nothing can run and no timer is set, the loop is in deadlock, and
//     says which task waits for what.
//
// [Test] takes its choices from seeds, and repeats the first of them to see
// that the test depends on nothing else. [Explore] takes all choices there are,
// which is a proof, for tests that are small enough. What either finds, it
// prints with a command that does exactly the same again.
//
// What lies outside the loop is not simulated. A loop of sim has no file
// descriptors: socket.Listen and socket.Dial fail there, and socket.Pipe works.
// Goroutines, files and time.Now are as real as anywhere. What goroutines bring,
// by Offload, Receive or Post, is taken when nothing else can run; of several that
// are out at once the first to come is the first to be taken, and no seed repeats
// which that is. The file docs/TESTING.md says more.
//
// When the last task has ended nothing is chosen any more: callbacks that are left
// run in the order in which they became ready.
package sim

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rondo-go/rondo/internal/kernel"
)

const (
	// Seeds is how many seeds Test tries, and SeedsShort how many with -short:
	// those from 1 on.
	Seeds      = 20
	SeedsShort = 5

	// OrdersMax is how many orders Explore tries before it gives up.
	OrdersMax = 100_000

	// StepsMax is how many steps a run may take. A run that takes more is said
	// to be in livelock. A step is a choice or a jump of the clock; tasks that
	// run with nobody to choose from are counted roughly.
	StepsMax = 10_000_000
)

// Test runs body as the main task of a loop of its own once for each seed from 1
// to [Seeds], or for those that the variable RONDO_SEED of the environment
// names: one as "7", or a range as "1-2000". The seed settles the order in which
// things run, the time of day at which the clock starts, and what [Rand] gives.
// The first seed is run twice, and must do the same both times.
//
// The first seed to fail ends the test, with a report that says what failed and
// when, and how to run that seed again. A seed fails if body fails t, if
// anything panics or calls runtime.Goexit, if a task's error reaches nobody, if
// the loop is in deadlock, if the run takes more than [StepsMax] steps, or if
// a task keeps the loop for a minute of real time. Such an endless run cannot be
// ended from outside: its goroutines are left where they are.
//
// Tasks that are left when body returns are cancelled and waited for, as by
// rondo.Run.
func Test(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	p, err := planned()
	if err != nil {
		t.Fatal(err)
	}
	if !p.seeds {
		p.first, p.last = 1, Seeds
		if testing.Short() {
			p.last = SeedsShort
		}
	}
	before := t.Failed()
	for seed := p.first; ; seed++ {
		w := newWorld(seed, seeded(seed))
		w.trail.keep = seed == p.first
		verdict(t, w, w.run(body), before, formatSeed(seed))
		if seed == p.first {
			again := newWorld(seed, seeded(seed))
			again.trail.follows = &w.trail
			verdict(t, again, again.run(body), before, formatSeed(seed))
			if d := again.trail.difference(); d != "" {
				t.Fatalf("sim: seed %d is not deterministic: %s\n%s\n\treplay: %s", seed, d, causes, command(t, formatSeed(seed)))
			}
		}
		if seed == p.last {
			return
		}
	}
}

// causes is what a test that is not deterministic has to be looked at for.
const causes = "\tusual causes: the order of a map, time.Now, math/rand without sim.Rand, a select of several channels, a goroutine, a variable that outlives the run"

// verdict ends the test if the run w failed it, and does what body asked t for.
func verdict(t testing.TB, w *world, o outcome, before bool, replay string) {
	t.Helper()
	what := o.failure()
	switch {
	case what != "":
	case t.Failed() && (o.exited || !before):
		what = "the test failed"
	case o.exited && t.Skipped():
		runtime.Goexit()
	case o.exited:
		what = "runtime.Goexit was called"
	default:
		return
	}
	t.Fatalf("sim: %s: %s\n\tafter %v of virtual time, step %d\n\treplay: %s",
		w.label, what, w.elapsed(), w.steps.Load(), command(t, replay))
}

// Rand gives the random numbers of the run that ctx belongs to: the same ones
// whenever the same seed is run, and always the same in [Explore]. They have no
// part in the choice of orders. Rand never suspends. It panics if ctx does not
// come from Test or Explore. Like everything of a loop the result may be used
// only on it.
func Rand(ctx context.Context) *rand.Rand {
	if l := kernel.Of(ctx); l != nil {
		if w, ok := l.Driver().(*world); ok {
			return w.rand
		}
	}
	panic("sim: Rand with a ctx that does not come from Test or Explore")
}

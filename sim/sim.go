// Package sim runs tests of concurrent code in a simulated world, where every run
// can be repeated exactly.
//
// The code under test is the code that runs in production: sim only replaces the
// driver below the loop. On this driver
//
//   - the clock stands still while anything can run, and then jumps to the next
//     timer, so that no test ever sleeps;
//   - the driver chooses the order in which ready things run. Everything that
//     Rondo leaves open is tried: of the tasks and callbacks that are ready when a
//     turn of the loop begins any may be first, and so may any of the timers that
//     are due at one instant;
//   - when nothing can run and no timer is set, the loop is in deadlock, and the
//     error says which task waits for what.
//
// [Test] takes its choices from seeds. It runs seeds twice to check that the test
// depends on nothing else. [Explore] takes all choices there are, which is a
// proof, for tests that are small enough. When either finds a failure, it prints a
// command that repeats exactly that run. A [Config] sets how much they try.
//
// What lies outside the loop is not simulated. A loop of sim has no file
// descriptors: socket.Listen and socket.Dial fail there, and socket.Pipe works.
// Goroutines, files and time.Now are as real as anywhere. Results that goroutines
// bring, by Offload, Receive or Post, are taken when nothing else can run. If
// several are outstanding at once, they are taken in the order in which they
// arrive, which no seed repeats. The file docs/TESTING.md says more.
//
// When the last task has ended nothing is chosen any more: the remaining callbacks
// run in the order in which they became ready.
package sim

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rondo-go/rondo/internal/kernel"
)

// repeatedSeeds is how many seeds Test runs twice. A body that ranges over a map
// of two entries passes one such check in two.
const repeatedSeeds = 20

// Test runs body as the main task of a new loop, once for each seed from 1 to
// c.Seeds. If the environment variable RONDO_SEED names a seed, as "7", or a
// range, as "1-2000", Test runs those instead. The seed determines the order in
// which things run, the time of day at which the clock starts, and the numbers of
// [Rand]. Each of the first 20 seeds runs twice and must do the same both times:
// the same tasks run, wait and end in the same order at the same times. From the
// second wait for another goroutine on, in Offload or Receive, the two runs are not
// compared.
//
// The first seed that fails ends the test, with a report that says what failed and
// when, and how to run that seed again. A seed fails if body fails t, if anything
// panics or calls runtime.Goexit, if no caller takes a task's error, if the loop
// is in deadlock, if the run takes more than c.MaxSteps steps, or if a task keeps
// the loop for a minute of real time. Such an endless run cannot be stopped from
// outside: its goroutines stay.
//
// When body returns, tasks that still run are cancelled and waited for, as by
// rondo.Run.
func (c Config) Test(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	c = c.withDefaults("Test")
	p, err := planned()
	if err != nil {
		t.Fatal(err)
	}
	if !p.seeds {
		p.first, p.last = 1, uint64(c.Seeds)
		if testing.Short() {
			p.last = uint64(c.SeedsShort)
		}
	}
	before := t.Failed()
	for seed := p.first; ; seed++ {
		w := newWorld(newChoices(seed), c.MaxSteps)
		if seed-p.first < repeatedSeeds {
			w.trace = &trace{keep: true}
		}
		report(t, w, w.run(body), before, formatSeed(seed))
		if w.trace != nil {
			again := newWorld(newChoices(seed), c.MaxSteps)
			again.trace = &trace{follows: w.trace}
			report(t, again, again.run(body), before, formatSeed(seed))
			if d := again.trace.difference(); d != "" {
				t.Fatalf("sim: seed %d is not deterministic: %s\n%s\n\treplay: %s", seed, d, causes, command(t, formatSeed(seed)))
			}
		}
		if seed == p.last {
			return
		}
	}
}

// causes is what to look for in a test that is not deterministic.
const causes = "\tusual causes: the order of a map, time.Now, math/rand without sim.Rand, a select of several channels, a goroutine, a variable that outlives the run"

// report ends the test if the run w failed it, or if body skipped it. before
// reports whether t had failed before the first run.
func report(t testing.TB, w *world, o outcome, before bool, replay string) {
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

// Rand returns the random numbers of the run that ctx belongs to: the same numbers
// whenever the same seed runs, and always the same in [Explore]. They do not affect
// the choice of orders. Rand never suspends. It panics if ctx does not come from
// Test or Explore. Like everything of a loop, the result may be used only on it.
func Rand(ctx context.Context) *rand.Rand {
	if l := kernel.Of(ctx); l != nil {
		if w, ok := l.Driver().(*world); ok {
			return w.rand
		}
	}
	panic("sim: Rand with a ctx that does not come from Test or Explore")
}

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
//     are due at one instant. What Rondo promises holds: what one caller gives to
//     Loop.Post or Loop.CallSoon runs in the order of the calls;
//   - when nothing can run and no timer is set, the loop is in deadlock, and the
//     error says which task waits for what.
//
// [Test] takes its choices from seeds. It runs seeds twice to check that the test depends on
// nothing else. [Explore] tries all orders of the tasks and callbacks that are ready at the same
// time, which for a small test is a proof, as long as timers are exact. When either finds a
// failure, it prints a command that repeats exactly that run. A [Config] sets what they try, and
// how much.
//
// [Cluster] runs many hosts under one clock. Each has a loop, on which package socket
// works over a simulated network, and a [Disk]. Hosts crash, lose power, stand still and
// are cut off from each other, as the test or the seed says.
//
// A body may vary more than the order: [Choose] is a number that the seed chooses and Explore
// enumerates, [Rand] has numbers that do not matter to a failure. [Always] and [Sometimes]
// state conditions that must hold, and a [History] records operations for a checker of
// linearizability.
//
// What lies outside the loop is not simulated. A loop of Test or Explore has no file descriptors:
// socket.Listen and socket.Dial fail there, and socket.Pipe works. Goroutines and time.Now are as
// real as anywhere, unless [Config.Goroutines] is set. Results that goroutines bring, by Offload,
// Receive or Post, are taken when nothing else can run. Functions that are offloaded run one at a
// time, in an order that is chosen. If several goroutines use Receive and Post at once, the
// results are taken in the order of their arrival, which no seed repeats. The file
// docs/TESTING.md says more.
//
// When the last task has ended nothing is chosen any more: the remaining callbacks
// run in the order in which they became ready.
package sim

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo/sim/internal/search"
)

// Test runs body as the main task of a new loop, once for each seed from 1 to c.Seeds. If the
// environment variable RONDO_SEED names a seed, as "7", or a range, as "1-2000", Test runs those
// instead. The seed determines the order in which things run, at which operations a task that
// need not wait gives others a turn, the time of day at which the clock starts, and the numbers
// of [Rand]. Each of the first 20 seeds runs twice and must do the same both times: the same
// tasks run, wait and end in the same order at the same times, and send, write to a Disk and put
// into a Queue the same. The two runs are compared only up to the second wait in Receive.
//
// The first seed that fails ends the test, with a report that says what failed and
// when, and how to run that seed again. A seed fails if body fails t, if anything
// panics or calls runtime.Goexit, if no caller takes a task's error, if the loop
// is in deadlock, if the run takes more than c.MaxSteps steps, or if a task keeps
// the loop for a minute of real time, or for two seconds if it is blocked outside
// Rondo and nothing else in the process runs. Such an endless run cannot be stopped from
// outside: its goroutines stay.
//
// When body returns, tasks that still run are cancelled and waited for, as by
// rondo.Run.
func (c Config) Test(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	if body == nil {
		panic("sim: Test with a nil function: it needs the body of the test")
	}
	c.checkAlone("Test")
	c.series(t, "Test", func(a *attempt) search.Outcome { return newLoopWorld(a).execute(body) })
}

// Explore runs body as the main task of a new loop in every order of the tasks and callbacks
// that are ready at the same time: once for each way of choosing, at each point, one of the
// things that could run next, and for each number that [Choose] may return. Each timer is
// exact, so timers of different times fire in one order; with c.Late each sleep of the loop
// ends on time or that much later, as a choice of its own. The log says how many orders there
// were. The time of day and the numbers of [Rand] are the same in all runs: a body that calls
// Rand is tried with one sequence of them, and the log says so. Explore begins with the order
// of a real loop, and goes on with those that deviate from it once, twice, and so on.
//
// The first order that fails ends the test, for the same reasons as in
// [Config.Test], with a report and a command that runs this order again:
// RONDO_SEED is then the list of choices, as "x:0,2,1". Explore ignores seeds in
// that variable, and Test ignores such a list.
//
// The number of orders grows very fast: n tasks that can all run have n! orders for each turn
// that they take together. Explore fails the test if there are more than c.MaxOrders, or if body
// does different things although the same choices are made.
func (c Config) Explore(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	if body == nil {
		panic("sim: Explore with a nil function: it needs the body of the test")
	}
	c.checkAlone("Explore")
	c.explore(t, "Explore", func(a *attempt) search.Outcome { return newLoopWorld(a).execute(body) })
}

// Test runs body with the defaults. See [Config.Test].
func Test(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	Config{}.Test(t, body)
}

// Explore runs body with the defaults. See [Config.Explore].
func Explore(t testing.TB, body func(ctx context.Context)) {
	t.Helper()
	Config{}.Explore(t, body)
}

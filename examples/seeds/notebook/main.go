// Command notebook goes from an iterator to an event loop in small programs. Run
// without arguments it runs them all; with names, those.
//
// Those whose names end in -by-hand run on the loop of package loop, which is
// there to be read, and the others on Rondo. Each pair prints the same.
package main

import "github.com/rondo-go/rondo/examples/seeds/internal/program"

var programs = []program.Program{
	{Name: "iterators", About: "elements one by one, to the end and beyond", Run: iterators},
	{Name: "iterator-by-type", About: "an iterator whose state is kept by hand", Run: fibonacciByHand},
	{Name: "generators", About: "the same numbers from functions that pause", Run: generators},
	{Name: "coroutines", About: "coroutines that the main line resumes", Run: coroutines},
	{Name: "futures-by-hand", About: "a run queue, tasks and futures", Run: futuresByHand},
	{Name: "futures", About: "the same on Rondo", Task: futures},
	{Name: "timers-by-hand", About: "a callback after two seconds", Run: timersByHand, Sleeps: true},
	{Name: "timers", About: "the same on Rondo", Task: timers},
	{Name: "sleeps-by-hand", About: "tasks that sleep at the same time", Run: sleepsByHand, Sleeps: true},
	{Name: "sleeps", About: "the same on Rondo", Task: sleeps},
	{Name: "cancellation-by-hand", About: "a task and a future that are cancelled", Run: cancellationByHand},
	{Name: "cancellation", About: "the same on Rondo", Task: cancellation},
	{Name: "failures-by-hand", About: "an error in a future", Run: failuresByHand},
	{Name: "failures", About: "the same on Rondo", Task: failures},
	{Name: "handles-by-hand", About: "callbacks that are taken back", Run: handlesByHand, Sleeps: true},
	{Name: "handles", About: "the same on Rondo", Task: handles},
	{Name: "descriptors-by-hand", About: "a task that waits for a descriptor", Run: descriptorsByHand},
	{Name: "descriptors", About: "the same on Rondo", Run: descriptors},
	{Name: "policies", About: "timers against tasks, either way", Run: policies},
	{Name: "policy", About: "what Rondo does about it", Task: policy},
}

func main() { program.Main(programs) }

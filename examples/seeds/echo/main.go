// Command echo has eight servers that send back what they are sent, each of which
// improves on the one before, from one client at a time to tasks on Rondo. All
// talk with the same three clients, whose words are what is printed. The programs
// after them show the generators of which steps 5 to 7 are made.
//
// Run without arguments it runs them all; with names, those.
package main

import "github.com/rondo-go/rondo/examples/seeds/internal/program"

var programs = []program.Program{
	{Name: "sequential", About: "step 1: one client after the other", Run: sequential},
	{Name: "goroutines", About: "step 2: a goroutine for each client", Run: goroutines},
	{Name: "pool", About: "step 3: two workers for three clients", Run: pool},
	{Name: "callbacks", About: "step 4: a loop that calls what is ready", Run: callbacks},
	{Name: "turns", About: "step 5: functions that pause, one after the other", Run: turns},
	{Name: "waits", About: "step 6: functions that say what they wait for", Run: waitsForDescriptors},
	{Name: "delegation", About: "step 7: functions that wait in those that they call", Run: delegation},
	{Name: "tasks", About: "step 8: tasks on Rondo", Run: tasks},

	{Name: "parts", About: "concurrency cut by hand, and by functions that pause", Run: parts},
	{Name: "results", About: "generators: values one by one, and a result", Run: results},
	{Name: "sends", About: "generators: values that go in", Run: sends},
	{Name: "throws", About: "generators: errors that go in, and the end", Run: throws},
	{Name: "delegates", About: "generators: one in place of another", Run: delegates},
	{Name: "trampoline", About: "generators: calls that the loop makes for them", Run: trampoline},
	{Name: "futures", About: "a task that waits for what a callback reads", Run: futures},
}

func main() { program.Main(programs) }

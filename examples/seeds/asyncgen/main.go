// Command asyncgen shows what becomes of sequences that wait and are left half-way,
// and how a program sees its own tasks.
//
// Run without arguments it runs all programs; with names, those.
package main

import "github.com/rondo-go/rondo/examples/seeds/internal/program"

var programs = []program.Program{
	{Name: "ranges", About: "a range that is left cleans up at once", Task: ranges},
	{Name: "stopped", About: "a sequence that is pulled, and stopped", Task: stopped},
	{Name: "first", About: "a sequence is known from its first value to its end", Task: first},
	{Name: "forgotten", About: "the end of a task ends what it has pulled", Task: forgotten},
	{Name: "together", About: "all that is left is ended at the same time", Task: together},
	{Name: "collected", About: "the garbage collector ends what nobody can ask", Run: collected},
	{Name: "current", About: "the running task, in various places", Task: current},
	{Name: "list", About: "the tasks of a loop, as a table and a tree", Task: list},
	{Name: "count", About: "tasks that start and end, counted", Task: count},
	{Name: "loops", About: "the tasks of two loops, seen from outside", Run: loops},
}

func main() { program.Main(programs) }

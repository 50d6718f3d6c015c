// Command minio goes through what a small asynchronous runtime has, and does it on
// Rondo: run, spawn, join, sleep, and waiting for descriptors, up to an echo server.
//
// Run without arguments it runs all programs; with names, those.
package main

import "github.com/rondo-go/rondo/examples/seeds/internal/program"

var programs = []program.Program{
	{Name: "anatomy", About: "a coroutine that is run, thrown at, and closed", Run: anatomy},
	{Name: "suspension", About: "a coroutine that something it calls suspends", Run: suspension},
	{Name: "run", About: "a main task, its error and its value", Run: run},
	{Name: "spawn", About: "ten tasks beside the main one", Task: spawn},
	{Name: "lost", About: "an error for which nobody waits", Run: lost},
	{Name: "join", About: "ten tasks, and what they return", Task: join},
	{Name: "sleep", About: "two seconds, five times", Task: sleep},
	{Name: "impatience", About: "a socket that does not block, and nobody there", Run: impatience},
	{Name: "descriptors", About: "an echo server that waits for descriptors", Run: descriptors},
	{Name: "connections", About: "an echo server whose connections wait", Run: connections},
}

func main() { program.Main(programs) }

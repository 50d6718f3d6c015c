// Command minio goes through what a small asynchronous runtime has, and does it on
// Rondo: run, spawn, join, sleep, and waiting for descriptors, up to an echo server.
//
// Those whose names end in -by-hand do it on the runtime of package minio, which is
// there to be read. Each pair prints the same.
//
// Run without arguments it runs all programs; with names, those.
package main

import "github.com/rondo-go/rondo/examples/seeds/internal/program"

var programs = []program.Program{
	{Name: "anatomy", About: "a coroutine that is run, thrown at, and closed", Run: anatomy},
	{Name: "suspension", About: "a coroutine that something it calls suspends", Run: suspension},
	{Name: "run-by-hand", About: "a main task, its error and its value", Run: runByHand},
	{Name: "run", About: "the same on Rondo", Run: run},
	{Name: "spawn-by-hand", About: "ten tasks beside the main one", Run: spawnByHand},
	{Name: "spawn", About: "the same on Rondo", Task: spawn},
	{Name: "lost-by-hand", About: "an error for which nobody waits", Run: lostByHand},
	{Name: "lost", About: "the same on Rondo", Run: lost},
	{Name: "join-by-hand", About: "ten tasks, and what they return", Run: joinByHand},
	{Name: "join", About: "the same on Rondo", Task: join},
	{Name: "sleep-by-hand", About: "two seconds, five times", Run: sleepByHand, Sleeps: true},
	{Name: "sleep", About: "the same on Rondo", Task: sleep},
	{Name: "impatience", About: "a socket that does not block, and nobody there", Run: impatience},
	{Name: "descriptors-by-hand", About: "an echo server that waits for descriptors", Run: descriptorsByHand},
	{Name: "descriptors", About: "the same on Rondo", Run: descriptors},
	{Name: "connections", About: "an echo server whose connections wait", Run: connections},
}

func main() { program.Main(programs) }

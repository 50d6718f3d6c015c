// Command coroutines shows what coroutines are good for, in small programs on
// package coro: parsers, chains, iterators in step, and how they end.
//
// Run without arguments it runs all programs; with names, those.
package main

import "github.com/rondo-go/rondo/examples/seeds/internal/program"

var programs = []program.Program{
	{Name: "upper", About: "a coroutine that never yields", Run: upper},
	{Name: "hello", About: "a coroutine that is resumed until after its end", Run: hello},
	{Name: "channels", About: "the same made of a goroutine and two channels", Run: channels},
	{Name: "comparison", About: "trees of different shapes, compared in step", Run: comparison},
	{Name: "visits", About: "walks over a tree, one of which loses most of it", Run: visits},
	{Name: "parser", About: "a parser that is fed byte by byte", Run: parsing},
	{Name: "sieve-by-flag", About: "primes, by links that ask whether to go on", Run: sieveByFlag},
	{Name: "sieve", About: "primes, by links that are cancelled", Run: sieve},
	{Name: "faulty-sieve", About: "a panic that passes along the links", Run: faultySieve},
	{Name: "panics", About: "a panic that comes out of resume", Run: panics},
	{Name: "cancellation", About: "coroutines that are cancelled at various times", Run: cancellation},
	{Name: "loan", About: "ten goroutines that take turns with one coroutine", Run: loan},
}

func main() { program.Main(programs) }

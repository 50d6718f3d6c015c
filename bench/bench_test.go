package main

import (
	"runtime"
	"slices"
	"testing"
)

// BenchmarkDuels measures the two sides of each row in this process by the
// ordinary means, so that profiles can be taken:
//
//	go test ./bench -run '^$' -bench 'Duels/sleep/rondo' -cpuprofile cpu
//
// The ratios are for the command: it lets the two sides take turns.
func BenchmarkDuels(b *testing.B) {
	for _, d := range slices.Concat(duels(), systemDuels()) {
		b.Run(d.name+"/rondo", func(b *testing.B) { bench(b, d, d.mine) })
		b.Run(d.name+"/rival", func(b *testing.B) { bench(b, d, d.theirs) })
	}
}

func bench(b *testing.B, d duel, side func(options) contestant) {
	if d.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(d.procs))
	}
	b.ReportAllocs()
	side(full())(b, b.N)
}

package main

import (
	"runtime"
	"slices"
	"testing"
)

// BenchmarkRows measures the two sides of each row that runs in this process as
// ordinary benchmarks, so that the go command can take profiles:
//
//	go test ./bench -run '^$' -bench 'Rows/sleep/rondo' -cpuprofile cpu
//
// It measures one side after the other. The program lets them take turns, which is
// why only the program prints ratios.
func BenchmarkRows(b *testing.B) {
	for _, d := range slices.Concat(comparisons(), systemRows()) {
		b.Run(d.name+"/rondo", func(b *testing.B) { bench(b, d, d.mine) })
		b.Run(d.name+"/rival", func(b *testing.B) { bench(b, d, d.theirs) })
	}
}

func bench(b *testing.B, d comparison, measured func(options) side) {
	if d.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(d.procs))
	}
	b.ReportAllocs()
	measured(full())(b, b.N)
}

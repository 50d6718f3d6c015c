package coro_test

import (
	"iter"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

// The rival in each of these is BenchmarkIterPull beside it, the bare switch.

func numbers(yield func(int) bool) {
	for i := 0; yield(i); i++ {
	}
}

func BenchmarkIterPull(b *testing.B) {
	b.ReportAllocs()
	next, stop := iter.Pull(numbers)
	defer stop()
	for b.Loop() {
		next()
	}
}

func BenchmarkResume(b *testing.B) {
	b.ReportAllocs()
	c := coro.Make(counter)
	defer c.Cancel()
	for b.Loop() {
		c.Resume(struct{}{})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	resume, cancel := coro.New(counter)
	defer cancel()
	for b.Loop() {
		resume(struct{}{})
	}
}

func BenchmarkPull(b *testing.B) {
	b.ReportAllocs()
	pull, stop := coro.Pull(numbers)
	defer stop()
	for b.Loop() {
		pull()
	}
}

func BenchmarkGeneratorNext(b *testing.B) {
	b.ReportAllocs()
	g := coro.NewGenerator(endless)
	defer func() { _ = g.Close() }()
	for b.Loop() {
		g.Next()
	}
}

func BenchmarkGeneratorSend(b *testing.B) {
	b.ReportAllocs()
	g := coro.NewGenerator(endless)
	defer func() { _ = g.Close() }()
	g.Next()
	for b.Loop() {
		_, _, _ = g.Send(1)
	}
}

func BenchmarkYieldFrom(b *testing.B) {
	b.ReportAllocs()
	g := coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) {
		return coro.YieldFrom(y, coro.NewGenerator(endless))
	})
	defer func() { _ = g.Close() }()
	for b.Loop() {
		g.Next()
	}
}

func endless(y *coro.Yielder[int, int]) (int, error) {
	for i := 0; ; i++ {
		if _, err := y.Yield(i); err != nil {
			return i, err
		}
	}
}

// One whole life: made, resumed twice, at its end.

func BenchmarkLifeIterPull(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		next, stop := iter.Pull(func(yield func(int) bool) { yield(1) })
		next()
		next()
		stop()
	}
}

func BenchmarkLifeNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		resume, cancel := coro.New(func(in int, yield func(int) int) int { return yield(in) })
		resume(1)
		resume(2)
		cancel()
	}
}

func BenchmarkLifeCancel(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		resume, cancel := coro.New(func(in int, yield func(int) int) int { return yield(in) })
		resume(1)
		cancel()
	}
}

// BenchmarkResumeShared has two goroutines resume one coroutine all the time.
func BenchmarkResumeShared(b *testing.B) {
	c := coro.Make(counter)
	defer c.Cancel()
	b.SetParallelism(1)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Resume(struct{}{})
		}
	})
}

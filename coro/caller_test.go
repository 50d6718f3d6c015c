package coro

import (
	"iter"
	"runtime"
	"testing"
)

// deepen calls f at the bottom of n frames.
func deepen(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deepen(n-1, f)
}

// TestCallerKnown: a goroutine finds out which coroutine it is: deep in calls, in
// deferred calls, under a panic and under Goexit. A goroutine that is no coroutine
// of this package finds that out too.
func TestCallerKnown(t *testing.T) {
	check := func(want *routine) {
		t.Helper()
		if got := current(); got != want {
			t.Errorf("current() = %p, want %p", got, want)
		}
	}
	check(nil)
	next, stop := iter.Pull(func(func(int) bool) { check(nil) })
	next()
	stop()
	for _, depth := range []int{0, 1, 60, 150, 5000} {
		for _, end := range []func(){func() {}, func() { panic("end") }, func() { runtime.Goexit() }} {
			var r *routine
			c := Make(func(_ int, yield func(int) int) int {
				defer func() { check(r) }()
				check(r)
				yield(1)
				var inner *Coroutine[int, int]
				inner = Make(func(int, func(int) int) int {
					deepen(depth, func() { check(&inner.routine) })
					return 0
				})
				inner.Resume(0)
				deepen(depth, func() {
					defer func() { check(r) }()
					check(r)
					end()
				})
				return 0
			})
			r = &c.routine
			c.Resume(0)
			check(nil)
			onItsOwn(func() { c.Resume(0) })
			check(nil)
		}
	}
}

// onItsOwn calls f on a new goroutine, which may end in any way.
func onItsOwn(f func()) {
	ended := make(chan bool)
	go func() {
		defer func() { _ = recover(); close(ended) }()
		f()
	}()
	<-ended
}

// TestNothingKept: a coroutine does not keep alive the values that it has handed
// over.
func TestNothingKept(t *testing.T) {
	c := Make(func(_ *int, yield func(*int) *int) *int {
		for {
			yield(new(int))
		}
	})
	for range 2 {
		if out, _ := c.Resume(new(int)); out == nil || c.in != nil || c.out != nil {
			t.Errorf("out %p; kept in %p, out %p", out, c.in, c.out)
		}
	}
	c.Cancel()
}

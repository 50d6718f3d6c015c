package coro

import (
	"iter"
	"math/bits"
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

// TestCallerKnown: a goroutine finds out which coroutine it is, in the depth, in
// deferred calls, under a panic and under Goexit; and one that is none, that it
// is none. It fails where the text of a stack does not show host's argument.
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
				inner := Make(func(int, func(int) int) int {
					deepen(depth, func() { check(find(numbers.Load())) })
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

// onItsOwn calls f on a goroutine that may end in any way.
func onItsOwn(f func()) {
	ended := make(chan bool)
	go func() {
		defer func() { _ = recover(); close(ended) }()
		f()
	}()
	<-ended
}

// TestCallerNumbers: numbers of every width are read as they are.
func TestCallerNumbers(t *testing.T) {
	for shift := range bits.UintSize - 2 {
		numbers.Store(max(numbers.Load(), 1<<shift-1))
		c := Make(func(int, func(int) int) int {
			if r := current(); r == nil || r.number < 1<<shift {
				t.Errorf("the coroutine numbered above %#x does not know itself", 1<<shift)
			}
			return 0
		})
		c.Resume(0)
	}
}

// TestTurnOrder: goroutines that wait for a coroutine get it in the order of
// asking, and nobody else comes in between.
func TestTurnOrder(t *testing.T) {
	const n = 20
	held, release := make(chan bool), make(chan bool)
	order := make([]int, 0, n+1)
	c := Make(func(who int, yield func(int) int) int {
		for {
			order = append(order, who)
			if who < 0 {
				held <- true
				<-release
			}
			who = yield(who)
		}
	})
	ended := make(chan bool)
	go func() { c.Resume(-1); ended <- true }()
	<-held
	for i := range n {
		go func() { c.Resume(i); ended <- true }()
		for c.waiting.Load() != int32(i+1) {
			runtime.Gosched()
		}
	}
	close(release)
	for range n + 1 {
		<-ended
	}
	c.Cancel()
	for i, who := range order {
		if who != i-1 {
			t.Fatalf("the order of running is %v", order)
		}
	}
	if len(order) != n+1 || c.waiting.Load() != 0 {
		t.Errorf("%d ran, %d wait", len(order), c.waiting.Load())
	}
}

// TestTurnEnd: all who wait for a coroutine learn that it has ended, whichever
// end that is.
func TestTurnEnd(t *testing.T) {
	for _, end := range []func(){func() {}, func() { panic("end") }, func() { runtime.Goexit() }} {
		const n = 5
		held, release := make(chan bool), make(chan bool)
		c := Make(func(int, func(int) int) int {
			held <- true
			<-release
			end()
			return 1
		})
		ended := make(chan bool)
		go onItsOwn(func() {
			defer func() { ended <- true }()
			c.Resume(0)
		})
		<-held
		for i := range n {
			go func() {
				if i%2 == 0 {
					c.Cancel()
				} else if out, ok := c.Resume(0); out != 0 || ok {
					t.Errorf("Resume after the end = %d, %v", out, ok)
				}
				ended <- true
			}()
		}
		for c.waiting.Load() != n {
			runtime.Gosched()
		}
		close(release)
		for range n + 1 {
			<-ended
		}
	}
}

// TestTurnNobody: somebody who was counted as waiting, but took the turn after
// all, is not handed it.
func TestTurnNobody(t *testing.T) {
	var free turn
	free.try()
	free.waiting.Add(1)
	free.leave()
	if !free.try() {
		t.Error("the turn was handed to nobody")
	}
}

// TestNothingKept: a coroutine does not keep alive what it has handed over.
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

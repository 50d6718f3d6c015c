package coro

import (
	"runtime"
	"testing"
)

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

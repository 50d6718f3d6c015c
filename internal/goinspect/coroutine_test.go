//go:build linux && (amd64 || arm64)

package goinspect

import (
	"iter"
	"testing"

	"github.com/rondo-go/rondo/internal/gid"
)

// me returns the calling goroutine.
func me() Goroutine { return Goroutine{uint64(gid.Record()), gid.ID()} }

// TestResumers: who has resumed coroutines that are resumed by each other, and one
// that has yielded.
func TestResumers(t *testing.T) {
	p := self(t)
	chain := make(chan []Goroutine)
	quit, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		gs := []Goroutine{me()}
		yielded, stop := iter.Pull(func(yield func(Goroutine) bool) { yield(me()) })
		defer stop()
		idle, _ := yielded()
		var down func(n int)
		down = func(n int) {
			gs = append(gs, me())
			if n == 0 {
				chain <- append(gs, idle)
				<-quit
				return
			}
			next, stop := iter.Pull(func(yield func(int) bool) { down(n - 1) })
			defer stop()
			next()
		}
		next, stop := iter.Pull(func(yield func(int) bool) { down(2) })
		defer stop()
		next()
	}()
	gs := <-chain
	idle := gs[len(gs)-1]
	got := p.Resumers(gs[1:])
	for i, r := range got[:3] {
		if r != gs[i].Record {
			t.Errorf("coroutine %d was resumed by %#x; want %#x", i, r, gs[i].Record)
		}
	}
	if got[3] != idle.Record {
		t.Errorf("the one that has yielded was resumed by %#x; want itself, %#x", got[3], idle.Record)
	}
	resumed, ok := p.Resumed(gs[1:2])
	for i, g := range gs[:3] {
		if next := resumed[g.Record]; !ok || next.Record != gs[i+1].Record {
			t.Errorf("goroutine %d has resumed %#x, %v; want %#x", i, next.Record, ok, gs[i+1].Record)
		}
	}
	if _, ok := resumed[idle.Record]; ok {
		t.Error("the one that has yielded has resumed another")
	}
	close(quit)
	<-done
	if got := p.Resumers(gs[1:2])[0]; got != 0 {
		t.Errorf("an ended coroutine was resumed by %#x", got)
	}
}

package rondo

import (
	"context"
	"slices"
	"testing"
	"unsafe"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/internal/timers"
)

// A lateWorld is a world that delays each entry that is first in the queue, until a time.
type lateWorld struct {
	driver.Simulation
	until int64
}

func (w *lateWorld) Choose(int, func(i int) uint64) (int, bool) { return 0, false }
func (w *lateWorld) Until() int64                               { return w.until }
func (w *lateWorld) Punctual() bool                             { return true }
func (w *lateWorld) EndsShare(uint64) bool                      { return true }
func (w *lateWorld) Settles() bool                              { return true }

// TestPutOff: an entry that the world delays goes behind the others, at once or after some time;
// at once if goroutines work for the loop, as time stands still then. hurry queues all that wait
// for their time.
func TestPutOff(t *testing.T) {
	w := &lateWorld{}
	l := &Loop{sim: &simulation{Simulation: w}}
	l.timers = timers.New[worker, Handle](unsafe.Offsetof(worker{}.timerIndex), unsafe.Offsetof(Handle{}.timerIndex))
	l.now = 10
	for id := range uint64(4) {
		l.queue.Add(entry{task: &Task{id: id}})
	}
	putOff := func(until int64, helpers int) {
		w.until, l.helpers = until, helpers
		if l.runsNext() {
			t.Fatal("an entry that is put off runs")
		}
	}
	sleep := func(until int64) {
		l.now = until
		l.fire()
		for range l.queue.Len() {
			if e := l.queue.Take(); e.call != nil {
				l.call(e.call)
			} else {
				l.queue.Add(e)
			}
		}
	}
	check := func(when string, late int, want ...uint64) {
		t.Helper()
		var queue []uint64
		for i := range l.queue.Len() {
			queue = append(queue, l.queue.At(i).task.id)
		}
		if !slices.Equal(queue, want) || l.timers.Len() != late {
			t.Fatalf("%s: the queue is %d and %d wait for their time, want %d and %d",
				when, queue, l.timers.Len(), want, late)
		}
	}
	putOff(10, 0)
	check("until now", 0, 1, 2, 3, 0)
	putOff(15, 1)
	check("beside a goroutine", 0, 2, 3, 0, 1)
	putOff(15, 0)
	check("until later", 1, 3, 0, 1)
	sleep(15)
	check("when its time has come", 0, 3, 0, 1, 2)
	putOff(30, 0)
	putOff(20, 0)
	check("until two times", 2, 1, 2)
	if n := len(l.sim.putOff); n != 2 {
		t.Errorf("%d are known to be put off, want 2", n)
	}
	sleep(20)
	l.hurry()
	check("when nothing is late any more", 0, 1, 2, 0, 3)
	l.hurry()
	check("once more", 0, 1, 2, 0, 3)
}

// TestShareIsDrawn: the world is asked whether a task loses its turn only if it draws shares.
func TestShareIsDrawn(t *testing.T) {
	for share, want := range map[uint32]bool{pace.Operation: true, pace.Operations * pace.Operation: false} {
		l := &Loop{sim: &simulation{Simulation: &lateWorld{}}}
		l.pace.Share = share
		if got := l.endsShare(&Task{}); got != want {
			t.Errorf("with a share of %d a task loses its turn: %v", share, got)
		}
	}
}

// TestWatchIsStopped: where goroutines are simulated too, the end of a context is looked for and
// also wakes the loop, until the watch is stopped.
func TestWatchIsStopped(t *testing.T) {
	l := &Loop{sim: &simulation{Simulation: &lateWorld{}}, driver: &stepClock{}}
	wakes := 0
	stop, _ := l.watch(t.Context(), t.Context().Done(), nil, nil, func(func()) func() {
		wakes++
		return func() { wakes-- }
	})
	if wakes != 1 || len(l.sim.contexts) != 1 {
		t.Errorf("%d functions and %d watches wait for the context", wakes, len(l.sim.contexts))
	}
	if stop(); wakes != 0 || len(l.sim.contexts) != 0 {
		t.Errorf("when stopped, %d functions and %d watches wait for it", wakes, len(l.sim.contexts))
	}
}

// TestContextSet watches contexts that are cancelled, and others, and stops some watches.
func TestContextSet(t *testing.T) {
	var s contextSet
	calls := make([]int, 3)
	var cancels []func()
	var stops []func()
	for i := range calls {
		ctx, cancel := context.WithCancel(t.Context())
		cancels = append(cancels, cancel)
		stops = append(stops, s.add(ctx.Done(), func() { calls[i]++ }))
	}
	look := func() { s.look(func(fn func()) { fn() }) }
	want := func(a, b, c int) {
		t.Helper()
		if look(); calls[0] != a || calls[1] != b || calls[2] != c {
			t.Fatalf("the calls are %v, want %d %d %d", calls, a, b, c)
		}
	}
	want(0, 0, 0)
	cancels[0]()
	want(1, 0, 0)
	want(1, 0, 0)
	stops[1]()
	stops[0]()
	cancels[1]()
	cancels[2]()
	want(1, 0, 1)
	if len(s) != 1 {
		t.Errorf("%d contexts are watched, want 1", len(s))
	}
}

package loop

import (
	"container/heap"
	"time"
)

// A Timer is a callback and when it is due.
type Timer struct {
	loop   *Loop
	when   time.Time
	order  uint64 // of those that are due at the same time
	action func()
	place  int // in the heap; -1 if it is not there
}

// CallAt has action called when the loop's time has come to when.
func (l *Loop) CallAt(when time.Time, action func()) *Timer {
	l.called++
	t := &Timer{loop: l, when: when, order: l.called, action: action}
	heap.Push(&l.timers, t)
	return t
}

// CallLater is CallAt in a time of d.
func (l *Loop) CallLater(d time.Duration, action func()) *Timer {
	return l.CallAt(l.Time().Add(d), action)
}

// Cancel keeps the callback from being called, and reports whether it came in
// time for that.
func (t *Timer) Cancel() bool {
	if t.place < 0 {
		return false
	}
	heap.Remove(&t.loop.timers, t.place)
	return true
}

// Sleep suspends the task for a time of d.
func (l *Loop) Sleep(d time.Duration) error {
	over := NewFuture[struct{}](l)
	timer := l.CallLater(d, func() { over.Set(struct{}{}) })
	defer timer.Cancel()
	_, err := over.Wait()
	return err
}

// timers is a heap, the next one to be due in front.
type timers []*Timer

// due reports whether the first timer is.
func (h timers) due() bool { return len(h) > 0 && !h[0].when.After(h[0].loop.Time()) }

func (h *timers) pop() *Timer { return heap.Pop(h).(*Timer) }

// Len, Less, Swap, Push and Pop are for package heap.
func (h timers) Len() int { return len(h) }

func (h timers) Less(i, j int) bool {
	if h[i].when.Equal(h[j].when) {
		return h[i].order < h[j].order
	}
	return h[i].when.Before(h[j].when)
}

func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timers) Push(x any) {
	t := x.(*Timer)
	t.place = len(*h)
	*h = append(*h, t)
}

func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	*h = (*h)[:last]
	t.place = -1
	return t
}

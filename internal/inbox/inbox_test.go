package inbox

import (
	"reflect"
	"sync"
	"testing"

	"github.com/rondo-go/rondo/internal/ring"
)

// TestInbox walks through the life of an inbox.
func TestInbox(t *testing.T) {
	var b Inbox[int]
	b.Open()
	var queue ring.Ring[int]
	if b.Pending() || b.Take(queue.Add, Portion) != 0 {
		t.Fatal("something is in a new inbox")
	}
	for i := range 3 {
		if accepted, wake := b.Put(i, false); !accepted || wake != (i == 0) {
			t.Errorf("Put number %d: accepted %v, wake %v", i, accepted, wake)
		}
	}
	if b.Close() || b.Closed() {
		t.Error("an inbox with something in it was closed")
	}
	if n := b.Take(queue.Add, Portion); n != 3 || queue.Len() != 3 || b.Pending() {
		t.Errorf("%d were taken, the queue has %d", n, queue.Len())
	}
	for i := range 3 {
		if v := queue.Take(); v != i {
			t.Errorf("number %d is %d", i, v)
		}
	}
	if _, wake := b.Put(4, false); !wake {
		t.Error("the loop is not woken for what came in after a Take")
	}
	b.Refuse()
	if accepted, _ := b.Put(5, false); !accepted || !b.Refuses() {
		t.Error("what works for the loop was refused")
	}
	b.Take(queue.Add, Portion)
	if !b.Close() || !b.Closed() {
		t.Error("an empty inbox was not closed")
	}
	if accepted, wake := b.Put(6, false); accepted || wake {
		t.Error("a closed inbox accepts")
	}
}

// TestBurstIsGivenBack: the memory of a burst is not kept.
func TestBurstIsGivenBack(t *testing.T) {
	var b Inbox[int]
	b.Open()
	var queue ring.Ring[int]
	for _, n := range []int{100_000, 100_000, 10, 10} {
		for i := range n {
			b.Put(i, false)
		}
		for b.Pending() {
			b.Take(queue.Add, Portion)
		}
	}
	if kept := cap(b.in) + cap(b.spare); kept == 0 || kept > 2*keep {
		t.Errorf("room for %d entries is kept", kept)
	}
}

// TestAtEnd: each function is called once when the loop ends, or at once if it has;
// and not if it was forgotten.
func TestAtEnd(t *testing.T) {
	var b Inbox[int]
	b.Open()
	calls := make([]int, 4)
	b.AtEnd(func() { calls[0]++ })
	forget := b.AtEnd(func() { calls[1]++ })
	late := b.AtEnd(func() { calls[2]++ })
	forget()
	forget()
	b.End()
	late()
	select {
	case <-b.Ended():
	default:
		t.Error("the end is not to be seen")
	}
	b.AtEnd(func() { calls[3]++ })()
	for i, want := range []int{1, 0, 1, 1} {
		if calls[i] != want {
			t.Errorf("function %d was called %d times, want %d", i, calls[i], want)
		}
	}
}

// TestManyGoroutines: all that was accepted is taken, once.
func TestManyGoroutines(t *testing.T) {
	var b Inbox[int]
	b.Open()
	var accepted [8]int
	var group sync.WaitGroup
	for g := range accepted {
		group.Go(func() {
			for {
				if ok, _ := b.Put(g, false); !ok {
					return
				}
				if accepted[g]++; accepted[g] == 1000 {
					return
				}
			}
		})
	}
	var taken [8]int
	var queue ring.Ring[int]
	for total := 0; total < 5000 || !b.Close(); {
		b.Take(queue.Add, Portion)
		for queue.Len() > 0 {
			taken[queue.Take()]++
			total++
		}
	}
	group.Wait()
	if taken != accepted {
		t.Errorf("accepted %v, taken %v", accepted, taken)
	}
}

// TestSimulated: what comes from the simulation is taken first and at once. What goroutines hand
// in comes when the loop is open, and results for tasks after it. A place of the line is taken
// by the first of the line.
func TestSimulated(t *testing.T) {
	var b Inbox[int] // a number below 100 is posted, another one a result for a task
	b.Open()
	open := false
	b.Simulate(func(e int) uint64 { return uint64(e / 100) }, func() bool { return open })
	var queue ring.Ring[int]
	for _, e := range []int{300, 1, 200, 2} {
		b.Put(e, false)
	}
	if b.Pending() || b.Own() || b.Take(queue.Add, Portion) != 0 {
		t.Error("what goroutines hand in is taken by a loop that is not open")
	}
	for _, e := range []int{11, 12} {
		if accepted, wake := b.Put(e, true); !accepted || wake != (e == 11) || !b.Pending() || !b.Own() || b.Close() {
			t.Errorf("Put of %d: accepted %v, wake %v", e, accepted, wake)
		}
	}
	var takes [][]int
	for range 4 {
		b.Take(queue.Add, Portion)
		open = true
		var got []int
		for queue.Len() > 0 {
			got = append(got, queue.TakeLast()) // in any order
		}
		takes = append(takes, got)
	}
	if want := [][]int{{12, 11}, {2, 1}, {300, 200}, nil}; !reflect.DeepEqual(takes, want) {
		t.Errorf("taken were %v, not %v", takes, want)
	}
	for _, want := range []int{11, 12, 1, 2} {
		if got := b.Next(); got != want {
			t.Errorf("in the line is %d, not %d", got, want)
		}
	}
	if !b.Close() {
		t.Error("something is left")
	}
}

// TestPortions: what came in is taken in its order, a portion at a time, also what comes meanwhile.
func TestPortions(t *testing.T) {
	var b Inbox[int]
	b.Open()
	var queue ring.Ring[int]
	for v := range 10 {
		b.Put(v, false)
	}
	for next := range 12 {
		if next == 5 {
			b.Put(10, false)
			b.Put(11, false)
		}
		if !b.Pending() || b.Take(queue.Add, 0) != 0 || b.Close() {
			t.Fatalf("%d is not in the inbox any more", next)
		}
		if n := b.Take(queue.Add, 1); n != 1 || queue.Take() != next {
			t.Fatalf("%d were taken, or not %d", n, next)
		}
	}
	if b.Pending() || !b.Close() {
		t.Error("something is left")
	}
}

package inbox

import (
	"sync"
	"testing"

	"github.com/rondo-go/rondo/internal/ring"
)

// TestInbox walks through the life of an inbox.
func TestInbox(t *testing.T) {
	var b Inbox[int]
	b.Open()
	var queue ring.Ring[int]
	if b.Pending() || b.Take(&queue) != 0 {
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
	if n := b.Take(&queue); n != 3 || queue.Len() != 3 || b.Pending() {
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
	b.Take(&queue)
	if !b.Close() || !b.Closed() {
		t.Error("an empty inbox was not closed")
	}
	if accepted, wake := b.Put(6, false); accepted || wake {
		t.Error("a closed inbox accepts")
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
		b.Take(&queue)
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

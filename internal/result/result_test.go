package result

import (
	"errors"
	"sync"
	"testing"
)

// TestOnce sets a result from many goroutines: one of them sets it, and all that wait
// or look read that one's.
func TestOnce(t *testing.T) {
	for range 200 {
		var r Result[int]
		var all sync.WaitGroup
		var first [4]bool
		failure := errors.New("failure")
		for i := range first {
			all.Go(func() { first[i] = r.Set(i, failure) })
			all.Go(func() {
				if i%2 == 0 {
					<-r.Await()
				}
				if _, err := r.Get(); err != nil && !r.Done() {
					t.Error("an error before there was a result")
				}
				<-r.Await()
				if _, err := r.Get(); err != failure || !r.Done() {
					t.Errorf("ended with %v", err)
				}
			})
		}
		all.Wait()
		v, _ := r.Get()
		for i, was := range first {
			if was != (i == v) {
				t.Errorf("the result is %d, and Set(%d) returned %t", v, i, was)
			}
		}
	}
}

// TestNotDone: without a result there is none to get.
func TestNotDone(t *testing.T) {
	var r Result[string]
	if v, err := r.Get(); v != "" || err != nil || r.Done() {
		t.Errorf("a result that was not set is %q, %v", v, err)
	}
	select {
	case <-r.Await():
		t.Error("a result that was not set has ended")
	default:
	}
}

// TestAwaited: those who wait at the moment when the result is set count, and neither
// those who have left by then nor those who come later.
func TestAwaited(t *testing.T) {
	for _, test := range []struct {
		waits, leaves int
		want          bool
	}{{0, 0, false}, {1, 0, true}, {1, 1, false}, {3, 2, true}} {
		var r Result[int]
		for range test.waits {
			r.Await()
		}
		for range test.leaves {
			r.Leave()
		}
		r.Set(1, nil)
		before := r.Awaited()
		r.Await()
		r.Leave()
		if before != test.want || r.Awaited() != test.want {
			t.Errorf("after %d waits, %d of which were given up, it was awaited: %t, %t", test.waits, test.leaves, before, r.Awaited())
		}
	}
}

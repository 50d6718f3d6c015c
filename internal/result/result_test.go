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
					<-r.Ended()
				}
				if _, err := r.Get(); err != nil && !r.Done() {
					t.Error("an error before there was a result")
				}
				<-r.Ended()
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
	case <-r.Ended():
		t.Error("a result that was not set has ended")
	default:
	}
}

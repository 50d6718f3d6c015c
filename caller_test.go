package rondo

import (
	"context"
	"iter"
	"testing"
)

// TestNestedCoroutinesDoNotPileUp: a task that makes one coroutine after the other
// does not make the loop's table of goroutines grow.
func TestNestedCoroutinesDoNotPileUp(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		l := LoopOf(ctx)
		for range 2000 {
			next, stop := iter.Pull(func(yield func(int) bool) {
				_ = Yield(ctx)
				yield(1)
			})
			next()
			if _, ok := next(); ok {
				t.Fatal("the sequence has not ended")
			}
			stop()
		}
		if n, places := len(l.nested.Places), l.goroutines.Places(); n > 500 || places > 4096 {
			t.Errorf("the table has %d coroutines, in %d places", n, places)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

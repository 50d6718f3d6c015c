package gid

import (
	"iter"
	"runtime"
	"testing"
)

// TestLocks locks a goroutine to its thread again and again, asks on it and in a
// coroutine, and unlocks it.
func TestLocks(t *testing.T) {
	if !walks {
		return
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		want := func(n uint64) {
			t.Helper()
			if got := Locks(); got != n {
				t.Errorf("locked %d times, want %d", got, n)
			}
		}
		for i := range uint64(5) {
			want(i)
			next, stop := iter.Pull(func(yield func(int) bool) { want(i) })
			next()
			stop()
			runtime.LockOSThread()
		}
		for i := range uint64(5) {
			want(5 - i)
			runtime.UnlockOSThread()
		}
		want(0)
	}()
	<-done
}

package coro_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

// TestPull takes every prefix of a sequence and then stops.
func TestPull(t *testing.T) {
	clean(t)
	want := []int{3, 1, 4, 1, 5}
	for n := range len(want) + 3 {
		called, returned := false, false
		pull, stop := coro.Pull(func(yield func(int) bool) {
			called = true
			defer func() { returned = true }()
			for _, v := range want {
				if !yield(v) {
					return
				}
			}
		})
		var got []int
		for range n {
			v, ok := pull()
			if ok != (len(got) < len(want)) {
				t.Fatalf("pull %d gives %v", len(got), ok)
			}
			if ok {
				got = append(got, v)
			} else if v != 0 {
				t.Errorf("pull at the end gives %d", v)
			}
		}
		if !slices.Equal(got, want[:min(n, len(want))]) {
			t.Errorf("%d pulls give %v", n, got)
		}
		stop()
		stop()
		if v, ok := pull(); v != 0 || ok {
			t.Errorf("pull after stop = %d, %v", v, ok)
		}
		if called != (n > 0) || returned != called {
			t.Errorf("%d pulls: push was called: %v, and returned: %v", n, called, returned)
		}
	}
}

// TestPullDeaf: an iterator that pays no attention to what yield returns is run
// to its end by stop.
func TestPullDeaf(t *testing.T) {
	clean(t)
	told := 0
	pull, stop := coro.Pull(func(yield func(int) bool) {
		for i := range 10 {
			if !yield(i) {
				told++
			}
		}
	})
	pull()
	pull()
	stop()
	if told != 9 {
		t.Errorf("yield returned false %d times, want 9", told)
	}
}

// TestPullEnds: panics and Goexit reach the caller that waits, in pull and in stop.
func TestPullEnds(t *testing.T) {
	clean(t)
	for _, end := range []struct {
		do   func()
		want string
	}{{func() { panic("boom") }, "panic: boom"}, {runtime.Goexit, "Goexit"}} {
		for _, inStop := range []bool{false, true} {
			pull, stop := coro.Pull(func(yield func(int) bool) {
				yield(1)
				end.do()
			})
			pull()
			got := outcome(func() string {
				if inStop {
					stop()
				} else {
					pull()
				}
				return "returned"
			})
			if got != end.want {
				t.Errorf("in stop: %v: %s, want %s", inStop, got, end.want)
			}
			if v, ok := pull(); v != 0 || ok {
				t.Errorf("pull after the end = %d, %v", v, ok)
			}
			stop()
		}
	}
}

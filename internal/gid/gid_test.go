package gid

import (
	"iter"
	"sync"
	"testing"
)

// TestFound: on the architectures with assembly the fast ways must have been
// found out, or every call would silently take the slow one.
func TestFound(t *testing.T) {
	if offset == 0 || !walks {
		t.Logf("offset %d, walks %v", offset, walks)
		if load(8) != 0 || entry() != 0 {
			t.Error("the number or the walk was not found in this Go release; the slow way is in use")
		}
	}
}

// TestID compares the number with the text of runtime.Stack on many goroutines
// and coroutines at once.
func TestID(t *testing.T) {
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got, want := ID(), slowID(); got != want {
				t.Errorf("goroutine: ID() = %d, want %d", got, want)
			}
			outer := ID()
			next, stop := iter.Pull(func(yield func(int) bool) {
				if got, want := ID(), slowID(); got != want || got == outer {
					t.Errorf("coroutine: ID() = %d, want %d (made by %d)", got, want, outer)
				}
			})
			defer stop()
			next()
		})
	}
	wg.Wait()
}

// deep calls f at the bottom of n frames.
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

// TestCoroutine asks at several depths on a goroutine, a coroutine, and a
// coroutine made in a coroutine.
func TestCoroutine(t *testing.T) {
	for _, depth := range []int{0, 1, 10, 2000} {
		deep(depth, func() {
			if Coroutine() {
				t.Errorf("depth %d: a goroutine was taken for a coroutine", depth)
			}
			if _, ok := Creator(); ok {
				t.Errorf("depth %d: a goroutine has a creator", depth)
			}
		})
		inCoroutine(func() {
			outer := ID()
			inner := uint64(0)
			next, stop := iter.Pull(func(yield func(int) bool) { inner = ID(); yield(1) })
			next()
			if id, ok := CreatorOf(inner); !ok || id != outer {
				t.Errorf("depth %d: CreatorOf() = %d, %v; want %d", depth, id, ok, outer)
			}
			stop()
			deep(depth, func() { check(t, depth, 0) })
			inCoroutine(func() { deep(depth, func() { check(t, depth, outer) }) })
		})
	}
}

// check asserts that the caller is a coroutine, made by the goroutine given if
// one is.
func check(t *testing.T, depth int, maker uint64) {
	if !Coroutine() {
		t.Errorf("depth %d: a coroutine was taken for a goroutine", depth)
	}
	if id, ok := Creator(); !ok || maker != 0 && id != maker {
		t.Errorf("depth %d: Creator() = %d, %v; want %d", depth, id, ok, maker)
	}
}

func inCoroutine(f func()) {
	next, stop := iter.Pull(func(yield func(int) bool) { f() })
	defer stop()
	next()
}

func BenchmarkID(b *testing.B) {
	for b.Loop() {
		ID()
	}
}

func BenchmarkCoroutine(b *testing.B) {
	for b.Loop() {
		Coroutine()
	}
}

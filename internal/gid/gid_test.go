package gid

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestFound: on the architectures with assembly the fast ways must have been
// found out, or every call would silently take the slow one.
func TestFound(t *testing.T) {
	if (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") && (offset == 0 || !walks) {
		t.Errorf("the number (%d) or the resumer was not found in this Go release; the slow way is in use", offset)
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

// TestSelf: goroutines and coroutines that live at the same time have different values, and each
// keeps its own while its stack moves, also when another goroutine resumes it.
func TestSelf(t *testing.T) {
	var mu sync.Mutex
	selves := make(map[uint64]bool)
	note := func() {
		mine := Self()
		mu.Lock()
		defer mu.Unlock()
		if selves[mine] {
			t.Errorf("two goroutines have %d", mine)
		}
		selves[mine] = true
		deep(1000, func() {
			if Self() != mine {
				t.Errorf("a goroutine had %d and has %d", mine, Self())
			}
		})
	}
	var begun, ended sync.WaitGroup
	begun.Add(50)
	for range 50 {
		ended.Go(func() {
			next, stop := iter.Pull(func(yield func(uint64) bool) {
				note()
				for yield(Self()) {
				}
			})
			defer stop()
			note()
			first, _ := next()
			begun.Done()
			begun.Wait()
			if again, _ := next(); again != first {
				t.Errorf("a coroutine had %d and has %d", first, again)
			}
		})
	}
	ended.Wait()
}

// deep calls f at the bottom of n frames.
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

// nestings are ways to make a coroutine and to resume it. The frames above the
// runtime's differ.
var nestings = map[string]func(f func()){
	"Pull": func(f func()) {
		next, stop := iter.Pull(func(yield func(struct{}) bool) { f() })
		defer stop()
		next()
	},
	"Pull of large values, resumed again": func(f func()) {
		next, stop := iter.Pull(func(yield func([40]int) bool) { yield([40]int{}); f() })
		defer stop()
		next()
		next()
	},
	"Pull2, ended by stop": func(f func()) {
		next, stop := iter.Pull2(func(yield func(string, error) bool) {
			defer f()
			yield("", nil)
		})
		next()
		stop()
	},
}

// TestResumers asks on goroutines and in coroutines, at several depths of both,
// whichever way they were made.
func TestResumers(t *testing.T) {
	for name, nest := range nestings {
		for _, depth := range []int{0, 1, 10, 2000} {
			var want []uint64
			var down func(levels int)
			down = func(levels int) {
				deep(depth, func() {
					if got := slices.Collect(Resumers()); !slices.Equal(got, want) {
						t.Errorf("%s, depth %d: the resumers are %v, want %v", name, depth, got, want)
					}
					if got := slices.Collect(makers); !slices.Equal(got, want) {
						t.Errorf("%s, depth %d: the makers are %v, want %v", name, depth, got, want)
					}
					if levels > 0 {
						want = slices.Insert(want, 0, ID())
						nest(func() { down(levels - 1) })
						want = want[1:]
					}
				})
			}
			down(3)
		}
	}
}

// TestResumersOfTheMoment: who resumes a coroutine counts, and not who made it.
func TestResumersOfTheMoment(t *testing.T) {
	if !walks {
		return // the slow way knows only the makers
	}
	next, stop := iter.Pull(func(yield func(uint64) bool) {
		for {
			var by uint64
			for id := range Resumers() {
				by = id
			}
			if !yield(by) {
				return
			}
		}
	})
	defer stop()
	for range 100 {
		done := make(chan bool)
		go func() {
			if by, _ := next(); by != ID() {
				t.Errorf("resumed by %d, got %d", ID(), by)
			}
			close(done)
		}()
		<-done
	}
}

// TestResumersWhileStacksMove: the stacks of those that wait are moved by the
// garbage collector while they are read.
func TestResumersWhileStacksMove(t *testing.T) {
	var over atomic.Bool
	var collector sync.WaitGroup
	collector.Go(func() {
		for !over.Load() {
			runtime.GC()
		}
	})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var want []uint64
			var down func(levels int)
			down = func(levels int) {
				deep(500, func() {}) // a stack that has been deep is made smaller later
				if levels == 0 {
					for range 20_000 {
						if got := slices.Collect(Resumers()); !slices.Equal(got, want) {
							t.Errorf("the resumers are %v, want %v", got, want)
							return
						}
					}
					return
				}
				want = slices.Insert(want, 0, ID())
				nestings["Pull"](func() { down(levels - 1) })
			}
			down(5)
		})
	}
	all.Wait()
	over.Store(true)
	collector.Wait()
}

package coro_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-go/rondo/coro"
)

// refused fails the test unless f panics with a sentence that is ErrRunning.
func refused(t *testing.T, what string, f func()) {
	t.Helper()
	err, _ := panicOf(f).(error)
	if !errors.Is(err, coro.ErrRunning) || !strings.HasPrefix(err.Error(), "coro: ") {
		t.Errorf("%s: panic with %v, want one that is ErrRunning", what, err)
	}
}

// TestInsideDeferred: the deferred calls of a coroutine that is being cancelled
// are inside it too.
func TestInsideDeferred(t *testing.T) {
	clean(t)
	tried := 0
	var outer, inner *coro.Coroutine[int, int]
	inner = coro.Make(func(_ int, yield func(int) int) int {
		defer func() {
			refused(t, "Resume of the canceller", func() { outer.Resume(1) })
			refused(t, "Cancel from inside Cancel", inner.Cancel)
			tried++
		}()
		return yield(1)
	})
	outer = coro.Make(func(int, func(int) int) int {
		inner.Resume(0)
		inner.Cancel()
		return 0
	})
	outer.Resume(0)
	if tried != 1 {
		t.Error("the deferred call did not run")
	}
}

// TestBeside: coroutines that are not inside a coroutine wait for it in turn
// when they meet over it, also if they are run by coroutines themselves.
func TestBeside(t *testing.T) {
	clean(t)
	const threads, rounds = 4, 300
	shared := coro.Make(func(_ int, yield func(int) int) int {
		for i := 1; ; i++ {
			runtime.Gosched() // let the others come while it runs
			yield(i)
		}
	})
	defer shared.Cancel()
	seen := make([][]int, threads)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			outer := coro.Make(func(int, func(int) int) int {
				inner := coro.Make(func(_ int, yield func(int) int) int {
					for range rounds {
						n, _ := shared.Resume(0)
						seen[i] = append(seen[i], n)
						_ = shared.Status()
						yield(0)
					}
					return 0
				})
				for ok := true; ok; {
					_, ok = inner.Resume(0)
				}
				return 0
			})
			outer.Resume(0)
		})
	}
	wg.Wait()
	all := make(map[int]bool)
	for _, ns := range seen {
		for _, n := range ns {
			all[n] = true
		}
	}
	if len(all) != threads*rounds || !all[1] || !all[threads*rounds] {
		t.Errorf("%d different values of %d resumes", len(all), threads*rounds)
	}
}

// TestYieldShared: goroutines of a coroutine that yield at the same time take
// turns: each resume answers one yield and gets the value of another.
func TestYieldShared(t *testing.T) {
	clean(t)
	const n = 10
	var mu sync.Mutex
	sum := 0
	resume, cancel := coro.New(func(_ int, yield func(int) int) int {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				in := yield(i)
				mu.Lock()
				defer mu.Unlock()
				sum += in
			})
		}
		wg.Wait()
		return -1
	})
	defer cancel()
	seen := make(map[int]bool)
	for in := 0; ; in++ {
		out, ok := resume(in)
		if !ok {
			break
		}
		seen[out] = true
	}
	if len(seen) != n || sum != n*(n+1)/2 {
		t.Errorf("%d different values came out, and %d went in", len(seen), sum)
	}
}

// TestYieldPendingAtEnd: a function that returns while a goroutine of it waits
// in yield has its end delayed until that is answered.
func TestYieldPendingAtEnd(t *testing.T) {
	clean(t)
	answer, pending := make(chan int, 1), make(chan bool)
	var c *coro.Coroutine[int, int]
	c = coro.Make(func(_ int, yield func(int) int) int {
		go func() { answer <- yield(5) }()
		for c.Status() != coro.Suspended {
			runtime.Gosched()
		}
		close(pending)
		return 6
	})
	if out, ok := c.Resume(1); out != 5 || !ok {
		t.Errorf("first Resume = %d, %v", out, ok)
	}
	<-pending
	if out, ok := c.Resume(2); out != 6 || ok {
		t.Errorf("second Resume = %d, %v", out, ok)
	}
	if in := <-answer; in != 2 {
		t.Errorf("yield returned %d", in)
	}
}

// TestYieldRacesEnd: the value of a yield and the result do not get mixed up when
// the function returns just as a goroutine of it yields.
func TestYieldRacesEnd(t *testing.T) {
	clean(t)
	for range 2000 {
		resume, _ := coro.New(func(_ int, yield func(int) int) int {
			go func() {
				defer func() { _ = recover() }() // it may be too late
				yield(5)
			}()
			runtime.Gosched()
			return 6
		})
		out, ok := resume(0)
		if ok {
			if out != 5 {
				t.Fatalf("the yield gave %d", out)
			}
			out, ok = resume(0)
		}
		if out != 6 || ok {
			t.Fatalf("the end gave %d, %v", out, ok)
		}
	}
}

// TestYieldSharedCancel: cancel panics in the yields of all goroutines.
func TestYieldSharedCancel(t *testing.T) {
	clean(t)
	const n = 10
	told := make(chan bool, n)
	c := coro.Make(func(_ int, yield func(int) int) int {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				defer func() {
					err, _ := recover().(error)
					told <- errors.Is(err, coro.ErrCanceled)
				}()
				yield(i)
			})
		}
		wg.Wait()
		return 0
	})
	c.Resume(0)
	c.Resume(0)
	c.Cancel()
	cancelled := 0
	for range n {
		if <-told {
			cancelled++
		}
	}
	if cancelled != n-1 {
		t.Errorf("%d yields were cancelled, want all but the one that was answered: %d", cancelled, n-1)
	}
}

// TestLockedThread: a coroutine of a goroutine that is locked to its thread.
func TestLockedThread(t *testing.T) {
	clean(t)
	made := coro.Make(counter) // outside: it has no goroutine yet
	got := outcome(func() string {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		made.Resume(struct{}{})
		out, _ := made.Resume(struct{}{})
		made.Cancel()
		return fmt.Sprint(out, made.Status())
	})
	if got != "2 dead" {
		t.Errorf("ran as %s", got)
	}
}

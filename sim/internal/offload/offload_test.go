package offload

import (
	"sync"
	"testing"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A run is a Pool with two loops, and what has become of its functions.
type run struct {
	*Pool
	t            *testing.T
	a, b         Loop
	wake, giveUp chan struct{}
	back         string // the names of those that have returned
	mu           sync.Mutex
	ran          string // the names of those that have begun
}

// newRun returns the run of a seed, in which functions return so early.
func newRun(t *testing.T, seed uint64, earliness int) *run {
	p := New(choice.New(seed), new(record.Trace))
	p.earliness = earliness
	return &run{Pool: p, t: t, a: p.Loop(), b: p.Loop(), wake: make(chan struct{}, 1), giveUp: make(chan struct{})}
}

// users is how many functions of the program there are. What is known of one outlives a run.
var users uintptr

// newUser returns a function of the program that no run has had.
func newUser() uintptr {
	users++
	return users
}

// add offloads functions of a loop with names of one letter, which return at once.
func (r *run) add(l *Loop, names string) {
	for _, name := range names {
		r.offload(l, string(name), newUser(), func() {})
	}
}

// offload offloads fn, and notes when it begins and returns.
func (r *run) offload(l *Loop, name string, user uintptr, fn func()) {
	l.Add(user, func() {
		r.mu.Lock()
		r.ran += name
		r.mu.Unlock()
		fn()
	}, func() { r.back += name })
}

// begun returns the names of those that have begun.
func (r *run) begun() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ran
}

// turns begins turns of a loop until n functions have returned, or so many turns have begun. It
// returns how many.
func (r *run) turns(l *Loop, n, most int) int {
	for turn := range most {
		if len(r.back) >= n {
			return turn
		}
		l.Begins()
	}
	return most
}

// wait waits until a function has returned, or a loop is woken.
func (r *run) wait() {
	r.t.Helper()
	if !r.Wait(r.wake, r.giveUp) {
		r.t.Fatal("it gave up")
	}
}

// is compares what has begun and returned with what is wanted. chance says whether the runtime had
// a part in it.
func (r *run) is(begun, back string, chance bool) {
	r.t.Helper()
	if r.begun() != begun || r.back != back {
		r.t.Errorf("%q have begun and %q have returned, want %q and %q", r.begun(), r.back, begun, back)
	}
	if _, compared := r.trace.Sum(); compared == chance {
		r.t.Errorf("the run is compared: %v", compared)
	}
}

// TestOneAfterTheOther: any of the functions may be the first, on a busy loop and on an idle one,
// as the seed says. On a busy loop none of another loop is, and none in a turn of its own.
func TestOneAfterTheOther(t *testing.T) {
	for what, next := range map[string]func(r *run){
		"busy": func(r *run) { r.turns(&r.a, len(r.back)+1, 50) },
		"idle": func(r *run) { r.wait() },
	} {
		orders, atOnce := map[string]bool{}, 0
		for seed := range uint64(100) {
			var first string
			for range 2 {
				r := newRun(t, seed, 250_000)
				r.add(&r.a, "123")
				if what == "busy" {
					r.add(&r.b, "b")
					if r.a.Begins(); r.back != "" {
						atOnce++
					}
				}
				for len(r.back) < 3 {
					next(r)
				}
				if first == "" {
					first = r.back
				}
				r.turns(&r.a, 4, 50)
				r.is(first, first, false)
			}
			orders[first] = true
		}
		if len(orders) != 6 || what == "busy" && (atOnce == 0 || atOnce == 200) {
			t.Errorf("%s: the orders are %v, and in %d runs of 200 the first returns at once", what, orders, atOnce)
		}
	}
}

// TestPatience: when a loop has been busy for many turns since the first function was offloaded,
// the one that came first returns whatever the seed says, and then the next one, those of other
// loops last. For two turns the loop takes what has come.
func TestPatience(t *testing.T) {
	for seed := range uint64(5) {
		r := newRun(t, seed, 0)
		r.turns(&r.a, 1, patience*3/2)
		r.add(&r.b, "b")
		r.add(&r.a, "12")
		for i, want := range []string{"1", "12", "12b"} {
			if n := r.turns(&r.a, len(want), 2*patience); n != patience-min(i, 1)*2 {
				t.Errorf("%q have returned after %d turns", want, n)
			}
			r.is(want, want, false)
			for open := 2; open >= 0; open-- {
				if n := r.a.Outstanding(); r.a.Prompt() != (open > 0) || n != 2-i+open {
					t.Errorf("%d turns: %d are outstanding; the loop takes what has come: %v", open, n, r.a.Prompt())
				}
				if open > 0 {
					r.a.Begins()
				}
			}
		}
		r.add(&r.a, "3")
		r.turns(&r.a, 4, 10)
		r.wait()
		r.turns(&r.a, 5, 10) // nothing is outstanding any more
		r.add(&r.a, "4")
		if n := r.turns(&r.a, 5, 2*patience); n != patience {
			t.Errorf("one that was offloaded later has returned after %d turns", n)
		}
	}
}

// TestNeedsBusyLoop: a function that does not return may wait for what the busy loop does later, so
// the loop goes on, but nothing else begins. From then on that function begins as late as possible
// on a busy loop, which does not wait for it. What such a run does is chance.
func TestNeedsBusyLoop(t *testing.T) {
	user := newUser()
	answer := make(chan int)
	ask := func() { <-answer }
	r := newRun(t, 1, 1e6)
	r.offload(&r.a, "1", user, ask)
	r.a.Begins()
	r.add(&r.a, "2")
	r.turns(&r.a, 1, 10)
	if r.is("1", "", true); r.a.Outstanding() != 2 {
		t.Errorf("%d are outstanding", r.a.Outstanding())
	}
	answer <- 1
	r.wait()
	r.is("1", "1", true)
	r.wait()
	r.is("12", "12", true)

	r = newRun(t, 1, 1e6)
	r.offload(&r.a, "1", user, ask)
	r.turns(&r.a, 1, patience-1)
	r.is("", "", false)
	r.a.Begins()
	answer <- 1 // it has begun
	r.is("1", "", true)
	<-r.running[0].ended
	r.turns(&r.a, 1, patience)
	if r.is("1", "1", true); !r.a.Prompt() {
		t.Error("the loop does not take the result")
	}
}

// TestNeedsIdleLoop: a function that wakes a loop and does not return may wait for an answer, so
// the loop goes on, also at once if it is known to do so. What such a run does is chance.
func TestNeedsIdleLoop(t *testing.T) {
	user := newUser()
	for range 2 {
		r := newRun(t, 1, 0)
		r.wake <- struct{}{} // by somebody else
		r.wait()
		r.is("", "", false)
		answer := make(chan int)
		r.offload(&r.a, "1", user, func() { r.wake <- struct{}{}; <-answer })
		r.wait()
		if r.is("1", "", true); r.a.Outstanding() != 1 {
			t.Errorf("%d are outstanding", r.a.Outstanding())
		}
		answer <- 1
		r.wait()
		r.is("1", "1", true)
		if close(r.giveUp); r.Wait(r.wake, r.giveUp) {
			t.Error("it did not give up")
		}
	}
}

// TestNeedsFunction: a function that does not return may wait for one that has not begun, so that
// begins beside it, the next time at once. What such a run does is chance.
func TestNeedsFunction(t *testing.T) {
	one, two := newUser(), newUser()
	beside := 0
	for seed := range uint64(20) {
		r := newRun(t, seed, 0)
		met := make(chan int, 1)
		r.offload(&r.a, "1", one, func() { <-met })
		r.offload(&r.b, "2", two, func() { met <- 1 })
		r.wait()
		r.wait()
		if _, compared := r.trace.Sum(); compared {
			r.is("21", "21", false)
		} else if beside++; len(r.back) != 2 {
			t.Errorf("%q have returned", r.back)
		}
	}
	if beside == 0 || beside == 20 {
		t.Errorf("in %d runs of 20 the first to begin waits for the other", beside)
	}
}

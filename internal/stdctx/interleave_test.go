//go:build interleave

package stdctx

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
)

// A thread is a function that runs in turns with others, a step at a time.
type thread struct {
	next  func() (func() bool, bool)
	ready func() bool // nil: it can go on
	step  func(ready func() bool)
}

func newThread(fn func()) *thread {
	th := new(thread)
	th.next, _ = iter.Pull(func(yield func(func() bool) bool) {
		th.step = func(ready func() bool) { yield(ready) }
		step = th.step
		fn()
	})
	return th
}

// interleave runs threads in every order of their steps and returns how many
// orders there are. begin makes the threads of one run, and what checks its end.
func interleave(t *testing.T, begin func() (check func(), fns []func())) (orders int) {
	t.Helper()
	var chosen, width []int
	for {
		step = func(func() bool) {}
		check, fns := begin()
		var live []*thread
		for _, fn := range fns {
			live = append(live, newThread(fn))
		}
		depth := 0
		for len(live) > 0 {
			var can []int
			for i, th := range live {
				if th.ready == nil || th.ready() {
					can = append(can, i)
				}
			}
			if len(can) == 0 {
				t.Fatal("every thread waits for a lock")
			}
			if depth == len(chosen) {
				chosen, width = append(chosen, 0), append(width, 0)
			}
			width[depth] = len(can)
			i := can[chosen[depth]]
			depth++
			step = live[i].step
			ready, more := live[i].next()
			live[i].ready = ready
			if !more {
				live = append(live[:i:i], live[i+1:]...)
			}
		}
		step = func(func() bool) {}
		check()
		orders++
		for depth > 0 && chosen[depth-1] == width[depth-1]-1 {
			depth--
		}
		if depth == 0 {
			return orders
		}
		chosen, width = chosen[:depth], width[:depth]
		chosen[depth-1]++
	}
}

// TestEveryOrder ends a state while goroutines make its context for the standard
// library, and checks in every order of their steps that the context has ended
// with the state's own error and cause.
func TestEveryOrder(t *testing.T) {
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		end    reason
		makers int
	}{
		"failure":     {reason{context.Canceled, failure}, 1},
		"deadline":    {reason{context.DeadlineExceeded, context.DeadlineExceeded}, 1},
		"plain end":   {reason{context.Canceled, context.Canceled}, 1},
		"nobody asks": {reason{context.Canceled, failure}, 0},
		"two at once": {reason{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			orders := interleave(t, func() (func(), []func()) {
				var s state
				s.Begin(context.Background())
				var fns []func()
				if c.end.err != nil {
					fns = append(fns, func() { s.End(&c.end) })
				}
				made := make([]context.Context, c.makers)
				for i := range made {
					fns = append(fns, func() { made[i] = s.Std() })
				}
				check := func() {
					for _, ctx := range made {
						if ctx != s.Std() {
							t.Fatal("two contexts stand for one state")
						}
						if err, cause := ctx.Err(), context.Cause(ctx); err != c.end.err || cause != c.end.cause {
							t.Fatalf("the context has ended with %v, cause %v; want %v, cause %v", err, cause, c.end.err, c.end.cause)
						}
					}
				}
				return check, fns
			})
			t.Logf("%d orders", orders)
		})
	}
}

// TestDeadlineInEveryOrder sets deadlines and takes them back while a goroutine looks, and checks
// in every order of their steps that it finds one that was there, or that there was none.
func TestDeadlineInEveryOrder(t *testing.T) {
	type deadline struct {
		at  int64
		set bool
	}
	none, first, second := deadline{}, deadline{7, true}, deadline{9, true}
	for name, noted := range map[string][]deadline{
		"set":             {none, first},
		"set to 0":        {none, {0, true}},
		"moved":           {first, second},
		"taken back":      {first, none},
		"taken back at 0": {{0, true}, none},
		"set again":       {first, none, second},
	} {
		t.Run(name, func(t *testing.T) {
			orders := interleave(t, func() (func(), []func()) {
				var s state
				var found deadline
				s.SetDeadline(noted[0].at, noted[0].set)
				sets := func() {
					for _, d := range noted[1:] {
						s.SetDeadline(d.at, d.set)
					}
				}
				looks := func() { found.at, found.set = s.Deadline() }
				check := func() {
					if !slices.Contains(noted, found) {
						t.Fatalf("the deadline is %v; there were %v", found, noted)
					}
				}
				return check, []func(){sets, looks}
			})
			t.Logf("%d orders", orders)
		})
	}
}

package rondo

import (
	"context"
	"iter"
	"maps"
	"math/rand/v2"
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
		if n, places := len(l.nested), l.goroutines.Places(); n > 500 || places > 4096 {
			t.Errorf("the table has %d coroutines, in %d places", n, places)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNestedModel notes coroutines in random tasks, lets tasks end, and compares
// the table with a map. A task's end touches its own coroutines alone.
func TestNestedModel(t *testing.T) {
	type place struct {
		id uint64
		in *Task
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	var c callers
	var tasks [20]*Task
	for i := range tasks {
		tasks[i] = new(Task)
	}
	model := make(map[uintptr]place)
	for step := range 100_000 {
		in := tasks[rnd.IntN(len(tasks))]
		if rnd.IntN(8) > 0 {
			p := place{1 + rnd.Uint64N(3), in}
			g := uintptr(1 + rnd.IntN(100))
			c.noteNested(in, p.id, g)
			model[g] = p
		} else {
			c.forgetNested(in)
			for g, p := range model {
				if p.in == in {
					delete(model, g)
				}
			}
		}
		if step%16 != 0 {
			continue
		}
		got := make(map[uintptr]place)
		for _, task := range tasks {
			if task.extra == nil {
				continue
			}
			for i, prev := task.extra.nested, int32(0); i != 0; i, prev = c.nested[i-1].next, i {
				n := c.nested[i-1]
				if n.in != task || n.prev != prev || c.records[n.g] != i {
					t.Fatalf("step %d: place %d is %+v", step, i, n)
				}
				got[n.g] = place{n.id, n.in}
			}
		}
		if !maps.Equal(got, model) || len(c.records) != len(model) || len(c.nested) > 100 {
			t.Fatalf("step %d: %d coroutines in %d places, want %d", step, len(got), len(c.nested), len(model))
		}
	}
}

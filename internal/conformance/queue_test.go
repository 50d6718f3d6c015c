package conformance

// The tests of conformance of queues.

import (
	"context"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC161PutBlocks: Put into a full queue waits until a Get makes room, and then
// for those that came first.
func TestC161PutBlocks(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](1)
		put := func(v int) func(ctx context.Context) error {
			return func(ctx context.Context) error { return q.Put(ctx, v) }
		}
		ended(t, ctx, nil, rondo.Go(ctx, put(1)))
		two, three := later(t, ctx, put(2)), later(t, ctx, put(3))
		if two.Done() || three.Done() {
			t.Error("a Put into a full queue did not wait")
		}
		for want := 1; want <= 3; want++ {
			if v, err := q.Get(ctx); v != want || err != nil {
				t.Errorf("got %d, %v, want %d", v, err, want)
			}
		}
		ended(t, ctx, nil, two, three)
	})
}

// TestC162CancelledGetPassesOn: a Get that is cancelled at the moment of a Put
// has the value, or leaves it to the next.
func TestC162CancelledGetPassesOn(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](0)
		got := 0
		get := func(ctx context.Context) error {
			_, err := q.Get(ctx)
			if err == nil {
				got++
			}
			return err
		}
		first, second := later(t, ctx, get), later(t, ctx, get)
		rondo.LoopOf(ctx).CallSoon(func() { q.TryPut(1) })
		rondo.LoopOf(ctx).CallSoon(func() { first.Cancel(errStop) })
		settled(t, ctx)
		if got != 1 || q.Len() != 0 {
			t.Error(got, "gets have the one value, and", q.Len(), "are left")
		}
		q.Close()
		_, _ = first.Wait(ctx), second.Wait(ctx)
	})
}

// TestC163TaskDone: once too often panics; Join returns when all are done, at
// once for a queue that never held anything.
func TestC163TaskDone(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](0)
		ended(t, ctx, nil, rondo.Go(ctx, q.Join))
		panics(t, "TaskDone called more often", q.TaskDone)
		q.TryPut(1)
		q.TryPut(2)
		join := later(t, ctx, q.Join)
		for range 2 {
			if join.Done() {
				t.Error("Join returned before the work was done")
			}
			q.TryGet()
			q.TaskDone()
		}
		ended(t, ctx, nil, join)
		panics(t, "TaskDone called more often", q.TaskDone)
	})
}

// TestC164Close: puts fail, those that wait included; gets drain what is left and
// then fail; Close again is nothing.
func TestC164Close(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		q, empty := rondo.NewQueue[int](1), rondo.NewQueue[int](1)
		q.TryPut(1)
		put := later(t, ctx, func(ctx context.Context) error { return q.Put(ctx, 2) })
		get := later(t, ctx, func(ctx context.Context) error { _, err := empty.Get(ctx); return err })
		for range 2 {
			q.Close()
			empty.Close()
		}
		ended(t, ctx, rondo.ErrQueueClosed, put, get)
		if err := q.Put(ctx, 3); err != rondo.ErrQueueClosed || q.TryPut(3) {
			t.Error("a put into a closed queue:", err)
		}
		if v, err := q.Get(ctx); v != 1 || err != nil {
			t.Error("what is left:", v, err)
		}
		if _, err := q.Get(ctx); err != rondo.ErrQueueClosed {
			t.Error("after the last:", err)
		}
	})
}

// TestC165Abort: what is left is dropped, and Join does not wait for it.
func TestC165Abort(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](2)
		q.TryPut(1)
		q.TryPut(2)
		put := later(t, ctx, func(ctx context.Context) error { return q.Put(ctx, 3) })
		join := later(t, ctx, q.Join)
		q.Abort()
		ended(t, ctx, rondo.ErrQueueClosed, put)
		ended(t, ctx, nil, join)
		if _, err := q.Get(ctx); err != rondo.ErrQueueClosed || q.Len() != 0 {
			t.Error("after Abort:", q.Len(), err)
		}
	})
}

// TestC166Order: the stack gives out what was put last, the priority queue the
// least and of equals what was put first.
func TestC166Order(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		stack := rondo.NewStack[int](0)
		least := rondo.NewPriorityQueue(0, func(a, b string) bool { return a[0] < b[0] })
		for i, s := range []string{"b1", "a1", "c1", "a2", "b2", "a3"} {
			stack.TryPut(i)
			least.TryPut(s)
		}
		stack.Close()
		least.Close()
		if got := slices.Collect(stack.All(ctx)); !slices.Equal(got, []int{5, 4, 3, 2, 1, 0}) {
			t.Error(got)
		}
		if got := slices.Collect(least.All(ctx)); !slices.Equal(got, []string{"a1", "a2", "a3", "b1", "b2", "c1"}) {
			t.Error(got)
		}
	})
}

// TestC227ChannelClosed: the end of the senders is told by Close, and receivers
// get what is left first. The end of the receivers is told by Abort: senders that
// wait fail.
func TestC227ChannelClosed(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](1)
		var got []int
		receiver := rondo.Go(ctx, func(ctx context.Context) error {
			got = slices.Collect(q.All(ctx))
			return nil
		})
		sender := rondo.Go(ctx, func(ctx context.Context) error {
			defer q.Close()
			return q.Put(ctx, 1)
		})
		ended(t, ctx, nil, sender, receiver)
		if !slices.Equal(got, []int{1}) {
			t.Error(got)
		}
		q = rondo.NewQueue[int](1)
		q.TryPut(1)
		blocked := later(t, ctx, func(ctx context.Context) error { return q.Put(ctx, 2) })
		q.Abort()
		ended(t, ctx, rondo.ErrQueueClosed, blocked)
	})
}

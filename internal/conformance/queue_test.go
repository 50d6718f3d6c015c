package conformance

// Expectations of users of queues, and of trio's channels.

import (
	"context"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC161PutBlocks: Put into a full Queue waits until a Get makes room. Puts
// that wait are served in their order.
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
				t.Errorf("Get returned %d, %v, want %d", v, err, want)
			}
		}
		ended(t, ctx, nil, two, three)
	})
}

// TestC162CancelledGetPassesOn: a Get that is cancelled when a value is put has
// the value, or leaves it to the next Get.
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
			t.Errorf("%d Gets have the one value; %d values are left", got, q.Len())
		}
		q.Close()
		_, _ = first.Wait(ctx), second.Wait(ctx)
	})
}

// TestC163TaskDone: Join returns when TaskDone was called for each value. One
// TaskDone too many panics.
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
				t.Error("Join returned before TaskDone was called for each value")
			}
			q.TryGet()
			q.TaskDone()
		}
		ended(t, ctx, nil, join)
		panics(t, "TaskDone called more often", q.TaskDone)
	})
}

// TestC164Close: after Queue.Close every Put fails, those that wait included. Get
// returns what is left and then fails. A second Close does nothing.
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
			t.Errorf("Put into a closed Queue returned %v", err)
		}
		if v, err := q.Get(ctx); v != 1 || err != nil {
			t.Errorf("Get of what is left returned %v, %v", v, err)
		}
		if _, err := q.Get(ctx); err != rondo.ErrQueueClosed {
			t.Errorf("Get from an empty closed Queue returned %v", err)
		}
	})
}

// TestC165Abort: Queue.Abort drops the values that are left, and Join does not
// wait for them.
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
			t.Errorf("after Abort Get returned %v; %d values are left", err, q.Len())
		}
	})
}

// TestC166Order: a stack returns the last value first. A priority queue returns
// the least value first, and equal values in the order in which they were put.
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
			t.Errorf("the stack returned %v", got)
		}
		if got := slices.Collect(least.All(ctx)); !slices.Equal(got, []string{"a1", "a2", "a3", "b1", "b2", "c1"}) {
			t.Errorf("the priority queue returned %v", got)
		}
	})
}

// TestLessPanics: if the less of a priority Queue panics in a task that waited for room or
// for a value, the room or the value goes to the next task that waits.
func TestLessPanics(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		panics := false
		q := rondo.NewPriorityQueue(3, func(a, b int) bool {
			if panics {
				panics = false
				panic("less")
			}
			return a < b
		})
		var got, failed []int
		start := func(v int, fn func(ctx context.Context) error) *rondo.Task {
			return later(t, ctx, func(ctx context.Context) error {
				defer func() {
					if recover() != nil {
						failed = append(failed, v)
					}
				}()
				return fn(ctx)
			})
		}
		put := func(v int) *rondo.Task {
			return start(v, func(ctx context.Context) error { return q.Put(ctx, v) })
		}
		get := func() *rondo.Task {
			return start(0, func(ctx context.Context) error {
				v, err := q.Get(ctx)
				got = append(got, v)
				q.TaskDone()
				return err
			})
		}
		ended(t, ctx, nil, put(7), put(8), put(9))
		five, six := put(5), put(6)
		if v, ok := q.TryGet(); v != 7 || !ok {
			t.Errorf("TryGet returned %d, %t", v, ok)
		}
		q.TaskDone()
		panics = true
		ended(t, ctx, nil, five, six)
		if q.TryPut(4) {
			t.Error("the queue is full, and takes another value")
		}
		ended(t, ctx, nil, get(), get(), get())

		gets := []*rondo.Task{get(), get(), get(), get()}
		for _, v := range []int{3, 2, 1} {
			q.TryPut(v)
		}
		panics = true
		ended(t, ctx, nil, gets...)
		if !slices.Equal(got, []int{6, 8, 9, 1, 2, 3}) || !slices.Equal(failed, []int{5, 0}) {
			t.Errorf("got %v; the calls of %v have failed", got, failed)
		}
		if err := q.Join(ctx); err != nil || q.Len() != 0 {
			t.Errorf("Join returned %v with %d values left", err, q.Len())
		}
	})
}

// TestC227ChannelClosed: when the senders Close a Queue, its receivers get what
// is left and then end. When the receivers Abort it, senders that wait fail.
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
			t.Errorf("the receiver got %v", got)
		}
		q = rondo.NewQueue[int](1)
		q.TryPut(1)
		blocked := later(t, ctx, func(ctx context.Context) error { return q.Put(ctx, 2) })
		q.Abort()
		ended(t, ctx, rondo.ErrQueueClosed, blocked)
	})
}

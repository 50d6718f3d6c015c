package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestC043CallFromOutside: in Debug, a goroutine that touches what only the loop
// may touch is told so, and which call it was. Nothing has happened then.
func TestC043CallFromOutside(t *testing.T) {
	type objects struct {
		event rondo.Event
		mutex rondo.Mutex
		list  rondo.WaitList
		queue *rondo.Queue[int]
	}
	o := new(objects)
	for name, c := range map[string]struct {
		wait func(ctx context.Context) error
		call func()
		end  func()
	}{
		"Event.Set": {
			func(ctx context.Context) error { return o.event.Wait(ctx) },
			func() { o.event.Set() }, func() { o.event.Set() },
		},
		"Mutex.Unlock": {func(ctx context.Context) error {
			if err := o.mutex.Lock(ctx); err != nil {
				return err
			}
			o.mutex.Unlock()
			return nil
		}, func() { o.mutex.Unlock() }, func() { o.mutex.Unlock() }},
		"Queue.TryPut": {func(ctx context.Context) error {
			_, err := o.queue.Get(ctx)
			return err
		}, func() { o.queue.TryPut(1) }, func() { o.queue.TryPut(2) }},
		"WaitList.Wake": {func(ctx context.Context) error {
			return o.list.Park(ctx, rondo.Reason{What: "test"})
		}, func() { o.list.Wake() }, func() { o.list.Wake() }},
		"WaitList.WakeAll": {func(ctx context.Context) error {
			return o.list.Park(ctx, rondo.Reason{What: "test"})
		}, func() { o.list.WakeAll() }, func() { o.list.Wake() }},
	} {
		*o = objects{queue: rondo.NewQueue[int](0)}
		err := debugged(func(ctx context.Context) error {
			o.mutex.TryLock()
			waiter := rondo.Go(ctx, c.wait)
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			want := "rondo: " + name + " from a goroutine that is not a task of "
			if got := fmt.Sprint(outside(c.call)); !strings.HasPrefix(got, want) || !strings.Contains(got, "use Post") {
				t.Errorf("%s with a waiter: %s", name, got)
			}
			if waiter.Done() {
				t.Errorf("%s: the waiter went on", name)
			}
			if name == "Mutex.Unlock" || name == "Queue.TryPut" {
				// Half of the call was done before the list was touched.
				return nil
			}
			c.end()
			if err := waiter.Wait(ctx); err != nil {
				return err
			}
			// The list is empty, and still it is known whose it is.
			if got := fmt.Sprint(outside(c.call)); !strings.HasPrefix(got, want) {
				t.Errorf("%s without a waiter: %s", name, got)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := outside(func() { o.event.Set(); o.list.Wake(); o.queue.TryPut(1) }); got != nil {
			t.Errorf("%s after the loop's end: %v", name, got)
		}
	}
	// What nobody has waited for belongs to no loop.
	err := debugged(func(ctx context.Context) error {
		if got := outside(func() { new(rondo.Event).Set(); new(rondo.WaitList).Wake() }); got != nil {
			t.Errorf("a new Event: %v", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// debugged runs main with Debug.
func debugged(main func(ctx context.Context) error) error {
	r := rondo.Runner{Debug: true, SlowStep: time.Hour}
	return r.Run(context.Background(), main)
}

// outside runs fn on another goroutine while the loop stands still, and returns
// what it panicked with.
func outside(fn func()) (panicked any) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		fn()
	}()
	return <-done
}

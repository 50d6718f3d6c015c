package conformance

// Expectations of users of asyncio's debug mode.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestC043CallFromOutside: with Debug, a call from another goroutine that would
// wake a task panics with the name of the call, and no task wakes.
func TestC043CallFromOutside(t *testing.T) {
	var event rondo.Event
	var list rondo.WaitList
	park := func(ctx context.Context) error { return list.Park(ctx, rondo.Reason{What: "test"}) }
	for name, c := range map[string]struct {
		wait func(ctx context.Context) error
		call func()
	}{
		"Event.Set":        {event.Wait, event.Set},
		"WaitList.Wake":    {park, func() { list.Wake() }},
		"WaitList.WakeAll": {park, func() { list.WakeAll() }},
	} {
		event, list = rondo.Event{}, rondo.WaitList{}
		err := debugged(func(ctx context.Context) error {
			waiting := later(t, ctx, c.wait)
			refused(t, name, c.call)
			if waiting.Done() {
				t.Errorf("%s: the task that waits has ended", name)
			}
			event.Set()
			list.WakeAll()
			ended(t, ctx, nil, waiting)
			// The list is empty, but it still belongs to this loop.
			refused(t, name, c.call)
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := outside(c.call); got != nil {
			t.Errorf("%s after the end of the loop: %v", name, got)
		}
	}
}

// TestC043HalfACall: Mutex.Unlock and Queue.TryPut panic too. They have changed
// the Mutex and the Queue by then.
func TestC043HalfACall(t *testing.T) {
	var mutex rondo.Mutex
	queue := rondo.NewQueue[int](0)
	err := debugged(func(ctx context.Context) error {
		_ = mutex.TryLock()
		locking := later(t, ctx, mutex.Lock)
		getting := later(t, ctx, func(ctx context.Context) error { _, err := queue.Get(ctx); return err })
		refused(t, "Mutex.Unlock", mutex.Unlock)
		refused(t, "Queue.TryPut", func() { queue.TryPut(1) })
		if locking.Done() || getting.Done() {
			t.Error("a task that waits has ended")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got := outside(func() { queue.TryPut(2) }); got != nil {
		t.Errorf("Queue.TryPut after the end of the loop: %v", got)
	}
}

// TestC043NobodyHasWaited: an object that no task has waited for belongs to no
// loop, so any goroutine may use it.
func TestC043NobodyHasWaited(t *testing.T) {
	err := debugged(func(context.Context) error {
		if got := outside(func() { new(rondo.Event).Set(); new(rondo.WaitList).Wake() }); got != nil {
			t.Errorf("panic %v", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// refused fails t unless call panics on another goroutine, by its name.
func refused(t *testing.T, name string, call func()) {
	t.Helper()
	want := "rondo: " + name + " from a goroutine that is not a task of "
	if got := fmt.Sprint(outside(call)); !strings.HasPrefix(got, want) || !strings.Contains(got, "use Post") {
		t.Errorf("%s: panic %q, want %q", name, got, want)
	}
}

// debugged runs main with Debug.
func debugged(main func(ctx context.Context) error) error {
	r := rondo.Runner{Debug: true, SlowStep: time.Hour, OnError: func(rondo.TaskInfo, error) {}}
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

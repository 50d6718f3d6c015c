package rondo

import (
	"context"
	"errors"
	"testing"

	"github.com/rondo-go/rondo/internal/gid"
)

// TestOffloadIsNoted: while functions and a Receive run on goroutines the loop counts them, and it
// counts none afterwards. Readers from outside find the goroutine of an abandoned function.
func TestOffloadIsNoted(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		l := LoopOf(ctx)
		helping := func(when string, want int) {
			t.Helper()
			if l.helpers != want {
				t.Errorf("%s: %d goroutines work for the loop, want %d", when, l.helpers, want)
			}
		}
		began, end, ch := make(chan uint64), make(chan bool), make(chan bool)
		abandoned := Go(ctx, func(ctx context.Context) error {
			return OffloadFunc(ctx, func(context.Context) error { began <- gid.ID(); <-end; return nil })
		})
		receives := Go(ctx, func(ctx context.Context) error { _, _, err := Receive(ctx, ch); return err })
		for l.helpers < 2 {
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		id := <-began
		abandoned.Cancel(nil)
		if err := abandoned.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Offload returned %v", err)
		}
		if c := l.offloads.abandoned.First(); c == nil || c.id != id || c.g == 0 && gid.Record() != 0 {
			t.Errorf("the abandoned function is noted as %+v, and runs on goroutine %d", c, id)
		}
		close(ch)
		err := receives.Wait(ctx)
		helping("one was abandoned, and runs on", 1)
		close(end)
		for l.offloads.abandoned.First() != nil && err == nil {
			err = Yield(ctx)
		}
		helping("both have ended", 0)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReceiver stops receivers at channels that have a value, are closed, or are not
// ready.
func TestReceiver(t *testing.T) {
	full, closed := make(chan int, 2), make(chan int)
	full <- 7
	close(closed)
	for _, c := range []struct {
		name         string
		ch           chan int
		value        int
		ok, received bool
	}{
		{"a value", full, 7, true, true},
		{"the end", closed, 0, false, true},
		{"nothing", make(chan int), 0, false, false},
	} {
		r := newReceiver(c.ch)
		called := false
		go r.run(func() { called = true })
		value, ok, received := r.end()
		if value != c.value || ok != c.ok || received != c.received || called != received {
			t.Errorf("%s: received %v: %d, %v; received was called: %v", c.name, received, value, ok, called)
		}
	}
}

// TestReceiverLosesNothing stops receivers while values are sent: each value is received, by
// one of them or afterwards.
func TestReceiverLosesNothing(t *testing.T) {
	const values = 2000
	ch := make(chan int)
	go func() {
		for i := range values {
			ch <- i
		}
		close(ch)
	}()
	for next := 0; next < values; {
		r := newReceiver(ch)
		go r.run(func() {})
		value, _, received := r.end()
		if !received {
			value = <-ch
		}
		if value != next {
			t.Fatalf("received %d, want %d", value, next)
		}
		next++
	}
}

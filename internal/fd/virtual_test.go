package fd_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestGoexitInAccept: a callback's Goexit unwinds a task that accepts and yields. What it has
// accepted and not returned is closed, and nothing else is. Where steps are long, as under the race
// detector, callbacks run beside the task, and nothing is unwound.
func TestGoexitInAccept(t *testing.T) {
	for turns := range 12 {
		returned := 0
		var listener *script
		var w sync.WaitGroup
		w.Go(func() {
			_ = rondo.Run(t.Context(), func(ctx context.Context) error {
				s, f := scripted(ctx)
				listener = s
				exit(rondo.LoopOf(ctx), turns)
				for {
					if _, _, err := f.AcceptVirtual(f.Task("Accept")); err != nil {
						return err
					}
					returned++
				}
			})
		})
		w.Wait()
		for i, c := range listener.accepted {
			if c.closed != (i >= returned) {
				t.Errorf("%d turns: connection %d of %d: closed: %v", turns, i, returned, c.closed)
			}
		}
	}
}

// exit calls Goexit in a callback after some turns of the loop.
func exit(l *rondo.Loop, turns int) {
	if turns == 0 {
		l.CallSoon(runtime.Goexit)
		return
	}
	l.CallSoon(func() { exit(l, turns-1) })
}

// TestCloseVirtual: the driver's socket is closed, and reports nothing any more.
func TestCloseVirtual(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s, f := scripted(ctx)
		read, write := reading(ctx, f, 1), writing(ctx, f, 1)
		if len(s.sinks) != 2 {
			t.Errorf("%d directions are registered", len(s.sinks))
		}
		err := f.Close()
		if len(s.sinks) != 0 || !s.closed {
			t.Errorf("%d directions are registered; closed: %v", len(s.sinks), s.closed)
		}
		_, _ = read.Wait(ctx)
		_, _ = write.Wait(ctx)
		return err
	})
}

package signals

import (
	"context"
	"os"
	"syscall"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/trap"
)

// An Error says which signal ended a scope, or a loop whose Runner has Interrupt set.
type Error = rondo.SignalError

// Cancel runs body in a scope, as rondo.Group does, and the first of the signals
// cancels that scope: every wait in it fails with the Error of that signal. Cancel
// waits for the clean-up and returns the Error, joined with any other errors. After
// the first signal, the signals have their default effect, so that a second one ends
// a program that hangs. When Cancel returns, it catches no more signals. A signal
// that comes when the scope is cancelled already changes nothing.
//
// If no signals are given, they are SIGINT, which is Ctrl-C, and SIGTERM.
//
// Cancel suspends the task until the last task of the scope has ended. If ctx is
// cancelled, so is the scope; if it is cancelled already, body is not called and
// Cancel returns the cause. It panics if a signal cannot be caught.
func Cancel(ctx context.Context, body func(ctx context.Context) error, sigs ...os.Signal) error {
	if body == nil {
		panic("rondo: signals.Cancel with a nil body")
	}
	check("Cancel", sigs)
	if len(sigs) == 0 {
		sigs = []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	loop := kernel.Of(ctx)
	var t *trap.Trap
	waiting := false // for the first signal
	stopWaiting := func() {
		if waiting {
			waiting = false
		}
	}
	defer func() {
		if t != nil {
			t.Release()
			stopWaiting()
		}
	}()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		if loop.Driver().Virtual() {
			return body(g)
		}
		waiting = true // a signal can only cancel, so it does not hide a deadlock
		t = trap.Hold(true, func(d *trap.Delivery) bool {
			return loop.Post(func() {
				if !waiting {
					// It came as the scope was left, so it is not for this scope.
					d.Return()
					return
				}
				stopWaiting()
				d.Use()
				g.Cancel(Error{Sig: d.Sig})
			}) == nil
		}, sigs...)
		return body(g)
	})
}

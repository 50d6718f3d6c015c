package signals

import (
	"context"
	"os"
	"syscall"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/trap"
)

// An Error says which signal ended a scope, or a loop whose Runner has Interrupt
// set.
type Error = rondo.SignalError

// Cancel runs body in a scope, as rondo.Group does, and the first of the signals
// cancels that scope: every wait in it fails with the Error of that signal.
// Clean-up runs and is waited for, and Cancel returns the Error, joined with
// what else failed. From that first signal on, the signals do what they do by
// default, so that the second ends a program that does not end. When Cancel
// returns, all is as it was before it. A signal that finds the scope cancelled
// already changes nothing: Cancel returns what it would have.
//
// With no signals given they are SIGINT, which is Ctrl-C, and SIGTERM.
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
	settle := func() {
		if waiting {
			waiting = false
			loop.Hold(-1)
		}
	}
	defer func() {
		if t != nil {
			t.Release()
			settle()
		}
	}()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		if loop.Driver().Virtual() {
			return body(g)
		}
		waiting = true
		loop.Hold(1)
		t = trap.Set(true, func(s os.Signal) bool {
			return loop.Post(func() {
				if !waiting {
					// It came as the scope was left: there is nothing for it to end.
					trap.Raise(s)
					return
				}
				settle()
				g.Cancel(Error{Sig: s})
			}) == nil
		}, sigs...)
		return body(g)
	})
}

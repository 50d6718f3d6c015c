package signals

import (
	"context"
	"os"
	"syscall"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
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
// Cancel returns the cause. It panics if a signal is nil or
// cannot be caught.
func Cancel(ctx context.Context, body func(ctx context.Context) error, sigs ...os.Signal) error {
	if body == nil {
		panic("rondo: signals.Cancel with a nil body")
	}
	check("Cancel", sigs)
	var f first
	defer f.release()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		f.catch(g, g.Cancel, sigs)
		return body(g)
	})
}

// first catches the first of some signals.
type first struct {
	trap    *trap.Trap
	stop    func() // of a simulated host; nil elsewhere
	waiting bool
}

// catch calls came on the loop when the first of the signals comes, and leaves those
// after it to the system. In a simulation they come from Host.Signal. Nothing waits for a
// signal as far as a deadlock is concerned: it can only end what runs.
func (f *first) catch(ctx context.Context, came func(err error), sigs []os.Signal) {
	loop := kernel.Of(ctx)
	if len(sigs) == 0 {
		sigs = []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	if loop.Driver().Simulation() != nil {
		f.catchSimulated(loop, came, sigs)
		return
	}
	f.waiting = true
	f.trap = trap.Hold(true, func(d *trap.Delivery) bool {
		return loop.Post(func() {
			if !f.waiting {
				// It came as the scope was left, so it is not for this scope.
				d.Return()
				return
			}
			f.waiting = false
			d.Use()
			came(Error{Sig: d.Sig})
		}) == nil
	}, sigs...)
}

// catchSimulated is catch on a simulated host.
func (f *first) catchSimulated(loop kernel.Loop, came func(err error), sigs []os.Signal) {
	host := driver.HostOf(loop.Driver())
	if host == nil {
		return
	}
	f.stop = host.Notify(func(s os.Signal) {
		f.stop()
		came(Error{Sig: s})
	}, sigs...)
}

// release catches no more signals.
func (f *first) release() {
	if f.stop != nil {
		f.stop()
	}
	if f.trap != nil {
		f.trap.Release()
	}
	f.waiting = false
}

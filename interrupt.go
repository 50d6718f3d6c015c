package rondo

// This file makes Ctrl-C end a loop in two stages, if the Runner asks for it:
// the first signal is a cancellation of everything, the second is the system's.

import (
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/trap"
)

// A SignalError says that a signal ended what was running. It is the cause of
// the cancellation where Runner.Interrupt or signals.Cancel made a signal one;
// package signals calls it Error.
type SignalError struct{ Sig os.Signal }

// Error returns the signal's name.
func (e SignalError) Error() string { return "rondo: ended by a signal: " + e.Sig.String() }

// catchInterrupt begins to wait for the first signal. Until it comes the loop
// may be woken by it, so it is idle and not in deadlock while nothing can run.
func (l *Loop) catchInterrupt() {
	l.addWaker(1)
	l.signals = trap.Set(true, func(s os.Signal) bool {
		return l.Post(func() {
			l.addWaker(-1)
			l.cancelAll(SignalError{s})
		}) == nil
	}, os.Interrupt, syscall.SIGTERM)
}

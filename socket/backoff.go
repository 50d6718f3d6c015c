package socket

// A task that accepts pauses when there are no descriptors left. It does not
// give up, and does not try again at once: other connections must be closed
// first.

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
)

// A backOff is the last pause between two calls of Accept, 0 after a success.
type backOff time.Duration

const (
	backOffMin = backOff(5 * time.Millisecond)
	backOffMax = backOff(time.Second)
)

// after reports a temporary error of Accept, and suspends the task for twice as
// long as the last time. It fails if the scope is cancelled.
func (d *backOff) after(g *rondo.Scope, l net.Listener, err error, report func(err error)) error {
	*d = min(max(2**d, backOffMin), backOffMax)
	pause := time.Duration(*d)
	report(fmt.Errorf("rondo: accepting on %s, trying again in %v: %w", l.Addr(), pause, err))
	return rondo.Sleep(g, pause)
}

// temporary reports whether an error of Accept may pass without a change to the
// listener.
func temporary(err error) bool {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errtree.Is(err, errno) {
			return true
		}
	}
	// Package net calls one more error temporary: a deadline that has passed.
	// That one does not pass.
	return false
}

package socket

// This file has what an accepting task does when there are no descriptors left:
// it neither gives up nor tries again at once, for what it lacks others have to
// give back first.

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
)

// A backOff is the last pause between two calls of Accept, 0 after one that has
// succeeded.
type backOff time.Duration

const (
	backOffMin = backOff(5 * time.Millisecond)
	backOffMax = backOff(time.Second)
)

// after reports an error of Accept that passes, and suspends the task for twice
// as long as the last time. It fails if the scope is cancelled.
func (d *backOff) after(g *rondo.Scope, l net.Listener, err error, report func(err error)) error {
	*d = min(max(2**d, backOffMin), backOffMax)
	pause := time.Duration(*d)
	report(fmt.Errorf("rondo: accepting on %s, trying again in %v: %w", l.Addr(), pause, err))
	return rondo.Sleep(g, pause)
}

// passing tells the errors of Accept that are no fault of the listener.
func temporary(err error) bool {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, errno) {
			return true
		}
	}
	// What package net takes for temporary besides is a deadline that has
	// passed, which stays so.
	return false
}

//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"context"
	"errors"
	"net"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// dialTask dials for a task: package net does it, on another goroutine.
// Cancelling that dial's ctx interrupts it.
func (d *Dialer) dialTask(ctx context.Context, loop kernel.Loop, network, address string) (*Conn, error) {
	away, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var c net.Conn
	var failed error
	err := fd.Block(loop, loop.Task(), kernel.Reason{What: "connect"}, func() error {
		c, failed = d.std().DialContext(away, network, address)
		return failed
	}, cancel, func() {}, func(error) bool { return true })
	var named *net.OpError
	switch {
	case err == nil:
	case err != failed && errors.As(failed, &named):
		// It was interrupted. The cause is the scope's; what was dialled stays
		// in the error.
		interrupted := *named // which a hook of the program may have returned
		interrupted.Err = err
		return nil, &interrupted
	default:
		return nil, err
	}
	return adopt(fd.Adopt(loop, c.(fd.Std)), c), nil
}

//go:build linux || darwin || freebsd || dragonfly

package socket

// The Control functions of the user, as package net calls them. If one panics or
// calls runtime.Goexit, package net leaves the socket open.

import (
	"context"
	"syscall"

	"golang.org/x/sys/unix"
)

type control = func(network, address string, c syscall.RawConn) error

type controlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error

// guardControl returns hook, which closes the socket if it does not return.
func guardControl(hook control) control {
	if hook == nil {
		return nil
	}
	return func(network, address string, c syscall.RawConn) (err error) {
		closeUnlessReturned(c, func() { err = hook(network, address, c) })
		return err
	}
}

// guardControlContext is guardControl for a hook with a ctx.
func guardControlContext(hook controlContext) controlContext {
	if hook == nil {
		return nil
	}
	return func(ctx context.Context, network, address string, c syscall.RawConn) (err error) {
		closeUnlessReturned(c, func() { err = hook(ctx, network, address, c) })
		return err
	}
}

func closeUnlessReturned(c syscall.RawConn, hook func()) {
	returned := false
	defer func() {
		if !returned {
			_ = c.Control(func(sys uintptr) { unix.Close(int(sys)) })
		}
	}()
	hook()
	returned = true
}

package socket

// This file waits for descriptors that are not sockets of this package: what a
// C library opened, a pipe, a device.

import (
	"context"
	"fmt"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// WaitRead waits until a read of the file descriptor would not block; also an
// error or the end of the file does not. A regular file is always ready. It
// leaves the descriptor as it is, and takes nothing from whoever else watches
// it, so any number of tasks may wait for one. fd must stay open meanwhile: that it
// is closed elsewhere ends no wait, ctx does.
//
// If ctx is cancelled first it returns the cause. Where the driver has no
// descriptors, in a simulation and on systems without epoll or kqueue, the error
// is errors.ErrUnsupported.
func WaitRead(ctx context.Context, fd uintptr) error {
	return ready(ctx, "WaitRead", driver.Readable, fd)
}

// WaitWrite is WaitRead for writing.
func WaitWrite(ctx context.Context, fd uintptr) error {
	return ready(ctx, "WaitWrite", driver.Writable, fd)
}

func ready(ctx context.Context, call string, which driver.Events, sys uintptr) error {
	loop, err := loopOf(ctx, call)
	if err != nil {
		return err
	}
	if err := rondo.Check(ctx); err != nil {
		return err
	}
	if err := fd.Ready(ctx, loop, which, sys); err != nil {
		return fmt.Errorf("rondo: socket.%s of descriptor %d: %w", call, sys, err)
	}
	return nil
}

// WatchRead calls fn as a callback of the loop whenever a read of the file
// descriptor would not block, once a turn for as long as that is so: until fn
// has read what there was. fn must not wait. Any number may watch one
// descriptor.
//
// The watch ends when stop is called, which may be done by any goroutine and
// more than once, or when ctx's scope ends. fd must stay open until then.
//
// WatchRead never suspends. It panics if ctx belongs to no loop, if fn is nil,
// or if the descriptor cannot be watched.
func WatchRead(ctx context.Context, fd uintptr, fn func()) (stop func()) {
	return watch(ctx, "WatchRead", driver.Readable, fd, fn)
}

// WatchWrite is WatchRead for writing.
func WatchWrite(ctx context.Context, fd uintptr, fn func()) (stop func()) {
	return watch(ctx, "WatchWrite", driver.Writable, fd, fn)
}

func watch(ctx context.Context, call string, which driver.Events, sys uintptr, fn func()) (stop func()) {
	loop, err := loopOf(ctx, call)
	if err != nil {
		panic(err)
	}
	if fn == nil {
		panic("rondo: socket." + call + " with a nil function")
	}
	if !loop.Inside() {
		panic("rondo: socket." + call + " from a goroutine that is not on the loop")
	}
	stop, err = fd.Watch(ctx, loop, which, sys, fn)
	if err != nil {
		panic(fmt.Errorf("rondo: socket.%s of descriptor %d: %w", call, sys, err))
	}
	return stop
}

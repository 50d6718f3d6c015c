package socket

// Waits for descriptors that are not sockets of this package: those
// of a C library, a pipe, a device.

import (
	"context"
	"fmt"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// WaitRead waits until a read of the file descriptor would not block, because there is data, an
// error, or the end of the file. A regular file is always ready. The descriptor is not changed,
// and other users of it still get their events. Any number of tasks may wait for one descriptor.
// fd must stay open meanwhile: closing it ends no wait, cancelling ctx does. It suspends the
// task.
//
// On Linux about 100 loops, in all processes together, can watch one open file.
// Beyond that a goroutine watches it, which costs more; for a blocking
// descriptor the error is syscall.EINVAL.
//
// If ctx is cancelled first it returns the cause. In a simulation, and on
// systems without epoll or kqueue, the error is errors.ErrUnsupported.
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
	if err := rondo.Checkpoint(ctx); err != nil {
		return err
	}
	if err := fd.Ready(ctx, loop, which, sys); err != nil {
		return kernel.Wrap(fmt.Sprintf("socket.%s of descriptor %d", call, sys), err)
	}
	return nil
}

// WatchRead calls fn as a callback of the loop whenever a read of the file
// descriptor would not block: once a turn, until fn has read what there is. fn
// must not wait. One descriptor may have any number of watches, within the limit
// of WaitRead.
//
// The watch ends when stop is called or ctx's scope ends. With a ctx of context.WithoutCancel fn is
// called until the loop ends, and stop must be called. Any goroutine may call stop, also more than
// once. fd must stay open until then.
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
		panic(kernel.Wrap(fmt.Sprintf("socket.%s of descriptor %d", call, sys), err))
	}
	return stop
}

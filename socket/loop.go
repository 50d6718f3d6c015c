package socket

// The loop that the ctx of a call names, and the world in which its sockets are: the
// system's, or that of a simulated host.

import (
	"context"
	"errors"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/stacks"
)

// loopOf returns the loop of ctx.
func loopOf(ctx context.Context, call string) (kernel.Loop, error) {
	if loop := kernel.Of(ctx); loop != nil {
		return loop, nil
	}
	return nil, kernel.Misuse("socket."+call, rondo.ErrNoLoop, stacks.Place())
}

// simulated returns the simulated host of the loop, or nil if sockets are the system's.
func simulated(loop kernel.Loop) driver.Host { return driver.HostOf(loop.Driver()) }

// onLoop returns the simulated host for a task of the loop.
func onLoop(loop kernel.Loop) (driver.Host, error) {
	if !loop.Inside() {
		return nil, errNotOnLoop
	}
	return simulated(loop), nil
}

// errand opens something at an address for a goroutine around a simulated host: fn is called in
// a task of the loop, with a ctx that ends with the caller's. done is false if the caller is not
// such a goroutine.
func errand(ctx context.Context, loop kernel.Loop, at string, fn func(ctx context.Context)) (done bool, err error) {
	h := simulated(loop)
	if h == nil || loop.Inside() {
		return false, nil
	}
	return h.Run(driver.Errand{At: at, Kind: driver.Opens, Do: func(task context.Context) {
		task, cancel := context.WithCancelCause(task)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		fn(task)
	}})
}

var errNotOnLoop = errors.New("in a simulation only tasks of the loop open sockets: use Post or Submit, or Goroutines in the Config of a cluster")

// on runs fn on the loop: at once if the caller is on the loop, else by Post.
// If the loop has ended there is nothing left to do.
func on(loop kernel.Loop, fn func()) {
	if loop.Inside() {
		fn()
		return
	}
	_ = loop.Post(fn)
}

//go:build !rondo_portable

package soak

// The handlers of a round fail now and then, in each of these ways. None of them ends more
// than its connection or request: a round in which nothing explodes ends well all the same.

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/rondo-go/rondo"
)

// hostile is an error whose methods panic.
type hostile struct{}

func (hostile) Error() string { panic("Error") }
func (hostile) Unwrap() error { panic("Unwrap") }
func (hostile) Is(error) bool { panic("Is") }

// simple are the ways to fail that do not wait, so a callback may fail so too.
var simple = []func() error{
	func() error { return errBomb },
	func() error { var e *fs.PathError; return e },
	func() error { return hostile{} },
	func() error { panic(errBomb) },
	func() error { panic(hostile{}) },
	func() error { var none []int; return fmt.Errorf("%d", none[1]) },
}

// fails reports whether a handler is to fail this time.
func (c *chaos) fails() bool {
	if c.rnd.IntN(12) != 0 {
		return false
	}
	c.counts[failures].Add(1)
	return true
}

// startFailing starts a task that fails, or that takes its time to end, with the ctx of a handler.
func (c *chaos) startFailing(ctx context.Context) {
	way, after := simple[c.rnd.IntN(len(simple))], c.some(500)
	late := c.rnd.IntN(3) == 0
	rondo.Go(ctx, func(ctx context.Context) error {
		c.running.Add(1)
		defer c.running.Add(-1)
		if late { // it ends later than the handler
			_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, after) })
			return rondo.Check(ctx)
		}
		_ = rondo.Sleep(ctx, after)
		return way()
	})
}

// fail fails as a handler may that can wait.
func (c *chaos) fail(ctx context.Context) error {
	switch c.rnd.IntN(5) {
	case 0: // and waits for the end of its ctx
		c.startFailing(ctx)
		return rondo.Timeout(ctx, time.Millisecond, rondo.WaitCanceled)
	case 1: // and leaves it alone
		c.startFailing(ctx)
		return nil
	case 2:
		return rondo.Timeout(ctx, c.some(100), rondo.WaitCanceled)
	case 3: // it takes its time although it is cancelled
		after := c.some(1000)
		_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, after) })
	}
	return simple[c.rnd.IntN(len(simple))]()
}

// failAtOnce fails as a callback may.
func (c *chaos) failAtOnce(ctx context.Context) {
	if c.rnd.IntN(2) == 0 {
		c.startFailing(ctx)
		return
	}
	_ = simple[c.rnd.IntN(len(simple))]()
}

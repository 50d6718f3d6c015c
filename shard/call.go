package shard

// Call runs a function on another shard.
//
// The law: Call returns when fn has ended, and not before. A call goes through
// three steps, each on one loop: it is put into the box of the shard, where it
// starts a task; the task runs fn and puts the call into the box of the caller's
// shard; there it wakes the caller. A caller that is cancelled meanwhile puts the
// call into the first box once more, and waits on.

import (
	"context"
	"errors"
	"reflect"
	"runtime/debug"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// errGone is the error of a call whose function called Goexit.
var errGone = errors.New("rondo: shard.Call: the function called runtime.Goexit")

// Call runs fn in a task on the given shard, suspends the calling task until fn has ended, and
// returns its results. On the caller's own shard it calls fn in the calling task.
//
// fn may touch what belongs to that shard, and nothing of the caller's: the caller waits, but
// its shard goes on. fn's ctx belongs to that shard and has no values of the caller's ctx. It
// is a scope of its own, which owns the tasks that fn starts with it: they are cancelled and
// waited for before Call returns, and their errors are joined to fn's. Start a task that is to
// outlive the call with the ctx of the shard's own main function.
//
// If ctx is cancelled, fn's ctx is cancelled with the same cause, and Call goes on waiting
// until fn has ended. An fn that has not started then does not run, and Call returns the cause.
// If that shard is cancelled, so is fn.
//
// A panic in fn comes out of Call as a *rondo.PanicError with fn's stack; a panic in a task
// that fn has started is returned as an error. A Goexit in fn ends Run, as a Goexit in any task
// does. After main has returned on every shard, Call of another shard returns
// rondo.ErrLoopClosed. ctx must belong to a shard of the same Run; otherwise the error is
// rondo.ErrNoLoop.
func Call[T any](ctx context.Context, to *Shard, fn func(ctx context.Context) (T, error)) (T, error) {
	var zero T
	if to == nil || fn == nil {
		panic("rondo: shard.Call with a nil " + nilOf(to == nil))
	}
	if err := rondo.Checkpoint(ctx); err != nil {
		return zero, err
	}
	me := Of(ctx)
	switch {
	case me == nil:
		return zero, errNoShard("Call")
	case me.group != to.group:
		return zero, errOtherRun(me, to)
	case me == to:
		return callHere(ctx, to, fn)
	}
	c := &call[T]{from: me, to: to, fn: fn}
	c.pending.to, c.pending.by, c.remote.Loop = to, rondo.Current(ctx), to.name
	c.list.Of = &c.remote
	if err := to.box.put(c, true); err != nil {
		return zero, c.closed()
	}
	c.wait(ctx)
	if c.fault != nil {
		panic(c.fault)
	}
	return c.value, c.err
}

// callHere is Call on the caller's own shard.
func callHere[T any](ctx context.Context, to *Shard, fn func(ctx context.Context) (T, error)) (v T, err error) {
	var fault *rondo.PanicError
	err = rondo.Contain(ctx, func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				fault = panicked(to, v)
			}
		}()
		v, err = fn(ctx)
		return err
	})
	if fault != nil {
		if err != nil {
			to.loop.Notice("a call of "+to.name, err)
		}
		panic(fault)
	}
	return v, err
}

func nilOf(shard bool) string {
	if shard {
		return "Shard"
	}
	return "function"
}

// Each runs fn on every shard at once, in a task each, and returns the results in the order of
// the shards when all have ended. The first to fail cancels the rest; Each returns the errors
// as rondo.Group does then, and no results. A panic in fn counts as the panic of a task, as in
// rondo.Gather. The rest is as with Call.
func Each[T any](ctx context.Context, fn func(ctx context.Context, s *Shard) (T, error)) ([]T, error) {
	if fn == nil {
		panic("rondo: shard.Each with a nil function")
	}
	me := Of(ctx)
	if me == nil {
		return nil, errNoShard("Each")
	}
	calls := make([]func(ctx context.Context) (T, error), me.Len())
	for i, s := range me.group.shards {
		calls[i] = func(ctx context.Context) (T, error) {
			return Call(ctx, s, func(ctx context.Context) (T, error) { return fn(ctx, s) })
		}
	}
	return rondo.Gather(ctx, calls...)
}

// A call belongs to one loop at a time, in the order of the law.
type call[T any] struct {
	from, to *Shard
	fn       func(ctx context.Context) (T, error)
	value    T
	err      error
	fault    *rondo.PanicError

	// These belong to the caller's loop.
	list     rondo.WaitList
	answered bool
	pending  pending
	cause    error // why the caller is cancelled, nil after a panic of its ctx; set before the call is put again

	remote kernel.Remote
}

// wait waits for the answer, also if ctx is cancelled or a method of it panics.
func (c *call[T]) wait(ctx context.Context) {
	c.from.watch(&c.pending)
	defer c.from.unwatch(&c.pending)
	defer c.cancel()
	c.cause = c.list.Park(ctx, calling)
}

// cancel cancels a call that is not answered, and waits for the answer. It calls no method of ctx.
func (c *call[T]) cancel() {
	if c.answered {
		return
	}
	_ = c.to.box.put(c, false) // if that loop has ended, the answer is on its way
	_ = c.from.loop.Task().Shield(func(ctx context.Context) error {
		for !c.answered {
			_ = c.list.Park(ctx, calling)
		}
		return nil
	})
}

var calling = rondo.Reason{What: "call"}

// deliver is one of the steps, or the cancellation.
func (c *call[T]) deliver(at *Shard) {
	switch {
	case at == c.from:
		c.answered = true
		c.list.Wake()
	case at.over:
		c.refused(at)
	case c.pending.task == nil:
		c.pending.task = rondo.Go(c.to.ctx, c.run)
		c.to.loop.SetServing(c.pending.task)
		c.to.loop.SetEntry(c.pending.task, reflect.ValueOf(c.fn).Pointer())
		c.to.loop.SetName(c.pending.task, &c.from.callName)
		c.remote.Task.Store(c.pending.task.ID())
	default:
		c.pending.task.Cancel(c.cause)
	}
}

// refused answers a call that did not begin.
func (c *call[T]) refused(at *Shard) {
	if at == c.to && c.pending.task == nil && c.err == nil {
		c.err = c.closed()
		_ = c.from.box.put(c, false) // it fails only if nobody waits there
	}
}

func (c *call[T]) closed() error { return kernel.Wrap("shard.Call of "+c.to.name, rondo.ErrLoopClosed) }

// run is the task.
func (c *call[T]) run(ctx context.Context) error {
	returned := false
	defer func() { _ = c.from.box.put(c, false) }() // it fails only if nobody waits there
	defer func() {
		if v := recover(); v != nil {
			c.fault = panicked(c.to, v)
		} else if !returned {
			c.err = errGone
		}
		c.leave()
	}()
	if c.err = rondo.Check(ctx); c.err == nil {
		c.value, c.err = c.fn(ctx)
	}
	returned = true
	return nil
}

// leave ends the tasks that fn has started. Their errors are the call's; if fn has panicked,
// which is all that Call can say, they are given to the Runner of the shard. The panic of a method
// of fn's error, which is called when these tasks have ended, counts as a panic of fn.
func (c *call[T]) leave() {
	defer func() {
		if v := recover(); v != nil {
			c.fault, c.err = panicked(c.to, v), nil
		}
	}()
	err := c.to.loop.Task().Leave(c.err)
	if c.fault == nil {
		c.err = err
	} else if err != nil {
		c.to.loop.Notice("a call of "+c.to.name, err)
	}
}

// panicked returns the panic with value v of a function called on to, for the caller.
func panicked(to *Shard, v any) *rondo.PanicError {
	if p, ok := v.(*rondo.PanicError); ok && p != nil {
		return p
	}
	return &rondo.PanicError{Task: "a call of " + to.name, Value: v, Stack: debug.Stack()}
}

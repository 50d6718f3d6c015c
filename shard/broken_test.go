package shard_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
)

// A grudge is an error whose Unwrap panics.
type grudge struct{}

func (grudge) Error() string { return "grudge" }
func (grudge) Unwrap() error { panic("grudge: Unwrap") }

// TestCallOfAGrudge: a method of fn's error that panics, when it is compared with the failure of a
// task of fn, is a panic of fn, and leaves no caller behind.
func TestCallOfAGrudge(t *testing.T) {
	var noticed error
	r := shard.Runner{Loops: 2, Loop: rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { noticed = err }}}
	err := r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		defer func() {
			if p, ok := recover().(*rondo.PanicError); !ok || p.Value != "grudge: Unwrap" {
				t.Errorf("it came out: %+v", p)
			}
		}()
		_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
			rondo.Go(ctx, func(context.Context) error { return errBad })
			_ = rondo.WaitCanceled(ctx)
			return 0, grudge{}
		})
		return err
	})
	if err != nil || !errors.Is(noticed, errBad) {
		t.Errorf("Run: %v; OnError got %v", err, noticed)
	}
}

// TestGoexitWhileFnEnds: a callback that calls Goexit on the stack of a call, also while the tasks
// of fn are waited for, leaves no caller behind: Run ends.
func TestGoexitWhileFnEnds(t *testing.T) {
	for turns := range 20 {
		done := make(chan bool)
		go func() {
			defer close(done)
			_ = run(t, 2, func(ctx context.Context, s *shard.Shard) error {
				if s.Index() != 0 {
					return nil
				}
				_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
					yields := func(ctx context.Context) (err error) {
						for i := 0; i < 5 && err == nil; i++ {
							err = rondo.Yield(ctx)
						}
						return err
					}
					rondo.Go(ctx, func(ctx context.Context) error {
						exit(rondo.LoopOf(ctx), turns) // behind the call in each turn, and before this task
						return rondo.Shield(ctx, yields)
					})
					return 0, yields(ctx)
				})
				return err
			})
			t.Error("Run returned")
		}()
		<-done
	}
}

// exit calls Goexit in a callback after some turns of the loop.
func exit(l *rondo.Loop, turns int) {
	if turns == 0 {
		l.CallSoon(runtime.Goexit)
		return
	}
	l.CallSoon(func() { exit(l, turns-1) })
}

// A brokenContext panics in Done, Err or Value from a moment on.
type brokenContext struct {
	context.Context
	method string
	armed  *bool
	done   chan struct{}
}

func (b brokenContext) mayPanic(method string) {
	if *b.armed && b.method == method {
		panic("broken " + method)
	}
}

func (b brokenContext) Done() <-chan struct{} { b.mayPanic("Done"); return b.done }
func (b brokenContext) Err() error            { b.mayPanic("Err"); return nil }
func (b brokenContext) Value(key any) any     { b.mayPanic("Value"); return b.Context.Value(key) }

// TestCallOfBrokenContext: fn has ended when Call panics because a method of ctx does: before the
// wait, and when the cancellation of ctx has ended it.
func TestCallOfBrokenContext(t *testing.T) {
	r := shard.Runner{Loops: 2, Loop: rondo.Runner{Recover: true, OnError: func(rondo.TaskInfo, error) {}}}
	for _, method := range []string{"Done", "Value"} {
		err := r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
			if s.Index() != 0 {
				return nil
			}
			b := brokenContext{ctx, method, new(bool), make(chan struct{})}
			*b.armed = method == "Done"
			begun, ended := false, false // of the other shard
			started := rondo.NewFuture[bool](ctx)
			caller := rondo.Go(ctx, func(context.Context) error {
				defer func() { _ = recover() }()
				_, err := shard.Call(b, s.At(1), func(ctx context.Context) (int, error) {
					begun = started.Set(true)
					defer func() { ended = true }()
					_ = rondo.WaitCanceled(ctx)
					return 0, rondo.Shield(ctx, func(ctx context.Context) (err error) {
						for range 10 {
							err = rondo.Yield(ctx)
						}
						return err
					})
				})
				return err
			})
			if method == "Value" {
				if _, err := started.Wait(ctx); err != nil {
					return err
				}
				*b.armed = true
				close(b.done)
			}
			_ = caller.Wait(ctx)
			_, err := shard.Call(ctx, s.At(1), func(context.Context) (int, error) {
				if begun && !ended {
					t.Errorf("%s: Call has ended before fn", method)
				}
				return 0, nil
			})
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// A nosyContext uses a Chan in its method Value.
type nosyContext struct {
	context.Context
	c *shard.Chan[int]
}

func (n nosyContext) Value(key any) any {
	n.c.Len()
	return n.Context.Value(key)
}

// TestChanOfNosyContext: methods of a context may use the Chan, which is not locked then.
func TestChanOfNosyContext(t *testing.T) {
	c := shard.NewChan[int](1)
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		n := nosyContext{ctx, c}
		var got int
		receiver := rondo.Go(ctx, func(context.Context) (err error) { got, err = c.Recv(n); return err })
		waiting(ctx, "chan receive", 1)
		if err := c.Send(ctx, 1); err != nil {
			return err
		}
		if err := receiver.Wait(ctx); err != nil || got != 1 {
			t.Errorf("Recv: %d, %v", got, err)
		}
		c.TrySend(2)
		sender := rondo.Go(ctx, func(context.Context) error { return c.Send(n, 3) })
		waiting(ctx, "chan send", 1)
		for want := 2; want <= 3; want++ {
			if v, err := c.Recv(ctx); v != want || err != nil {
				t.Errorf("Recv: %d, %v, want %d", v, err, want)
			}
		}
		return sender.Wait(ctx)
	})
}

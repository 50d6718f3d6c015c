//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package containment_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// callbacks are the places that are decided otherwise: a panic there ends the loop, also with
// Recover. Nobody waits for a callback, so no caller can be given an error; it belongs to no
// connection, request or job that could be ended in its place; and what it was to wake would
// wait for ever if the loop went on. Each calls boom from a callback, and returns what is to be
// done when the loop has ended.
var callbacks = map[string]func(ctx context.Context, boom func()) (after func(), err error){
	"rondo.Loop.CallSoon": func(ctx context.Context, boom func()) (func(), error) {
		rondo.LoopOf(ctx).CallSoon(boom)
		return nil, nil
	},
	"rondo.Loop.CallLater": func(ctx context.Context, boom func()) (func(), error) {
		rondo.LoopOf(ctx).CallLater(1, boom)
		return nil, nil
	},
	"rondo.Loop.CallAt": func(ctx context.Context, boom func()) (func(), error) {
		rondo.LoopOf(ctx).CallAt(rondo.Now(ctx), boom)
		return nil, nil
	},
	"rondo.Loop.Post": func(ctx context.Context, boom func()) (func(), error) {
		return nil, rondo.LoopOf(ctx).Post(boom)
	},
	"rondo.Task.OnDone": func(ctx context.Context, boom func()) (func(), error) {
		rondo.Go(ctx, rondo.Check).OnDone(boom)
		return nil, nil
	},
	"rondo.Future.OnDone": func(ctx context.Context, boom func()) (func(), error) {
		f := rondo.NewFuture[int](ctx)
		f.OnDone(boom)
		f.Set(1)
		return nil, nil
	},
	"socket.WatchRead": func(ctx context.Context, boom func()) (func(), error) {
		return onPipe(func(r, _ *os.File) { socket.WatchRead(ctx, r.Fd(), boom) })
	},
	"socket.WatchWrite": func(ctx context.Context, boom func()) (func(), error) {
		return onPipe(func(_, w *os.File) { socket.WatchWrite(ctx, w.Fd(), boom) })
	},
}

// onPipe calls watch with a pipe in which there is something, and room for more.
func onPipe(watch func(r, w *os.File)) (after func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	watch(r, w)
	_, err = w.WriteString("x")
	return func() { _, _ = r.Close(), w.Close() }, err
}

// TestCallbacksEndTheLoop: Run panics with the panic of a callback, when all that waits has been
// cancelled, and nothing is left.
func TestCallbacksEndTheLoop(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(callbacks)) {
		for _, recovers := range []bool{false, true} {
			var after func()
			cleaned := false
			thrown := func() (v any) {
				defer func() { v = recover() }()
				r := rondo.Runner{Recover: recovers}
				return r.Run(t.Context(), func(ctx context.Context) (err error) {
					rondo.Go(ctx, func(ctx context.Context) error {
						defer func() { cleaned = true }()
						return rondo.WaitCanceled(ctx)
					})
					if after, err = callbacks[name](ctx, func() { panic(errPlain) }); err != nil {
						return err
					}
					return rondo.WaitCanceled(ctx)
				})
			}()
			if after != nil {
				after()
			}
			var p *rondo.PanicError
			if err, _ := thrown.(error); !errors.As(err, &p) || p.Value != errPlain || !cleaned {
				t.Errorf("%s, Recover %v: Run ended with %v; a task has cleaned up: %v", name, recovers, thrown, cleaned)
			}
		}
	}
}

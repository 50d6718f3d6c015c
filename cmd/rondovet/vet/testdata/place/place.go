// Package place waits where it must not.
package place

import (
	"context"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func goroutines(ctx context.Context, q *rondo.Queue[int], f *rondo.Future[int], l *rondo.Loop) {
	go func() {
		q.TryPut(1)                        // want `rondo.Queue.TryPut in a goroutine that is not a task: use Post or Submit, or set a Future`
		defer func() { _ = q.Join(ctx) }() // want `rondo.Queue.Join in a goroutine that is not a task`
		// What any goroutine may do.
		f.Set(1)
		_, _ = f.Wait(context.Background())
		_ = l.Post(func() { q.TryPut(1) })
		_ = rondo.Run(context.Background(), func(ctx context.Context) error { return rondo.Sleep(ctx, 1) })
	}()
	time.AfterFunc(time.Second, func() {
		l.CallSoon(func() {}) // want `rondo.Loop.CallSoon in a goroutine that is not a task`
	})
}

func callbacks(ctx context.Context, t *rondo.Task) {
	t.OnDone(func() {
		_ = rondo.Yield(ctx) // want `rondo.Yield in a callback, which must not wait: use Go to start a task that waits`
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Yield(ctx) })
	})
	_ = socket.Protocol{Data: func(c *socket.Transport, _ []byte) {
		_ = rondo.Sleep(c.Context(), 1) // want `rondo.Sleep in a callback`
	}}
}

func handed(ctx context.Context, q *rondo.Queue[int], f *rondo.Future[int], e *rondo.Event) {
	go e.Set()                         // want `rondo.Event.Set in a goroutine that is not a task: use Post or Submit, or set a Future`
	time.AfterFunc(time.Second, e.Set) // want `rondo.Event.Set in a goroutine`
	_ = rondo.OffloadFunc(ctx, q.Join) // want `rondo.Queue.Join in a goroutine`
	go func() {
		go q.Close() // want `rondo.Queue.Close in a goroutine`
	}()
	go f.Set(1)
	go socket.Dial(ctx, "tcp", "localhost:1")
}

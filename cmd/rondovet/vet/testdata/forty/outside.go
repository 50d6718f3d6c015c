package main

import (
	"context"
	"time"

	"github.com/rondo-go/rondo"
)

func goroutineSleeps(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(context.Context) error {
		slept := make(chan error)
		go func() {
			slept <- rondo.Sleep(ctx, time.Millisecond) // want `rondo.Sleep in a goroutine that is not a task: use Post or Submit, or set a Future`
		}()
		return <-slept
	})
}

func goroutineStarts(ctx context.Context) error {
	go func() {
		rondo.Go(ctx, nothing) // want `rondo.Go in a goroutine that is not a task`
	}()
	return rondo.Sleep(ctx, time.Second)
}

func goroutinePuts(ctx context.Context) error {
	q := rondo.NewQueue[int](1)
	put := make(chan error, 1)
	go func() {
		put <- q.Put(ctx, 1) // want `rondo.Queue.Put in a goroutine that is not a task`
	}()
	err, _, _ := rondo.Receive(ctx, put)
	return err
}

func goroutineSets(ctx context.Context) error {
	var ready rondo.Event
	go func() {
		time.Sleep(10 * time.Millisecond)
		ready.Set() // want `rondo.Event.Set in a goroutine that is not a task`
	}()
	return rondo.Timeout(ctx, time.Second, ready.Wait)
}

func keptCtx(context.Context) error { return rondo.Sleep(keptContext, time.Millisecond) }

func keptLoop(context.Context) error {
	keptRondo.Post(func() {}) // want `the error of rondo.Loop.Post is dropped`
	return keptRondo.Post(func() {})
}

func keptScope(ctx context.Context) error {
	var kept *rondo.Scope
	_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
	kept.Go(nothing)
	return nil
}

func runInTask(ctx context.Context) error { return rondo.Run(ctx, nothing) }

func offloadOuter(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(context.Context) error {
		return rondo.Sleep(ctx, time.Millisecond) // want `rondo.Sleep in a goroutine that is not a task`
	})
}

func offloadInner(ctx context.Context) error {
	_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
		return 0, rondo.Yield(ctx) // want `rondo.Yield in a goroutine that is not a task`
	})
	return err
}

func callbackWaits(ctx context.Context) error {
	rondo.LoopOf(ctx).CallSoon(func() {
		_ = rondo.Sleep(ctx, time.Millisecond) // want `rondo.Sleep in a callback, which must not wait: use Go to start a task that waits`
	})
	return rondo.Sleep(ctx, 10*time.Millisecond)
}

func afterFunc(ctx context.Context) error {
	var m rondo.Mutex
	changed := rondo.Cond{L: &m}
	time.AfterFunc(10*time.Millisecond, func() {
		changed.Signal() // want `rondo.Cond.Signal in a goroutine that is not a task`
	})
	return rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
		if err := m.Lock(ctx); err != nil {
			return err
		}
		defer m.Unlock()
		return changed.Wait(ctx)
	})
}

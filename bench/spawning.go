package main

// Spawn rows: how long it takes to start tasks and to wait for them.

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-go/rondo"
)

// warmBatches is warmUp where an operation is a batch of tasks.
const warmBatches = 2

func succeed(context.Context) error { return nil }

func spawnTask(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error { return warmed(c, n, spawnIn(ctx)) })
	}
}

// spawnIn returns a function that starts n tasks, each when the one before has ended.
func spawnIn(ctx context.Context) func(n int) error {
	return func(n int) error {
		for range n {
			if err := rondo.Go(ctx, succeed).Wait(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// lived is how many tasks have lived at once before spawnTaskAfter measures.
const lived = 10_000

// spawnTaskAfter is spawnTask in a loop that has had many tasks at once.
func spawnTaskAfter(o options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for range lived {
					g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, 10*time.Millisecond) })
				}
				return nil
			})
			if err := errors.Join(err, rondo.Sleep(ctx, o.rest)); err != nil {
				return err
			}
			return warmed(c, n, spawnIn(ctx))
		})
	}
}

// asyncTask is spawnTask with a value: each operation is Async and Wait.
func asyncTask(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			start := func(n int) error {
				for range n {
					if _, err := rondo.Async(ctx, seven).Wait(ctx); err != nil {
						return err
					}
				}
				return nil
			}
			return warmed(c, n, start)
		})
	}
}

func spawnGoroutine(options) side {
	return func(c clock, n int) { infallible(c, n, spawnGoroutines) }
}

// spawnGoroutines starts n goroutines, each when the one before has ended.
func spawnGoroutines(n int) {
	for range n {
		done := make(chan error)
		go func() { done <- nil }()
		<-done
	}
}

func spawnGoroutineAfter(o options) side {
	return func(c clock, n int) {
		var g sync.WaitGroup
		for range lived {
			g.Go(func() { time.Sleep(10 * time.Millisecond) })
		}
		g.Wait()
		time.Sleep(o.rest)
		infallible(c, n, spawnGoroutines)
	}
}

// groupTasks makes each operation a Group of many tasks that do nothing. Two
// Groups warm it up, and the rivals do the same.
func groupTasks(o options) side {
	return groups(o.many, succeed)
}

// sleepTasks is groupTasks with tasks that sleep.
func sleepTasks(o options) side {
	return groups(o.many, func(ctx context.Context) error { return rondo.Sleep(ctx, o.sleep) })
}

// burstTasks is sleepTasks with sleeps of different lengths: the first tasks are due
// while the last ones start.
func burstTasks(o options) side {
	i := 0
	return groups(o.many, func(ctx context.Context) error {
		i++
		return rondo.Sleep(ctx, upTo10(o, i))
	})
}

// upTo10 is 0 to 10 times the sleep of the options.
func upTo10(o options, i int) time.Duration { return time.Duration(i%11) * o.sleep }

func burstGoroutines(o options) side {
	return repeated(func() {
		var g sync.WaitGroup
		for i := range o.many {
			g.Go(func() { time.Sleep(upTo10(o, i)) })
		}
		g.Wait()
	})
}

func groups(many int, task func(ctx context.Context) error) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			group := func(g *rondo.Scope) error {
				for range many {
					g.Go(task)
				}
				return nil
			}
			for i := range warmBatches + n {
				if i == warmBatches {
					c.ResetTimer()
				}
				if err := rondo.Group(ctx, group); err != nil {
					return err
				}
			}
			c.StopTimer()
			return nil
		})
	}
}

func groupErrgroup(o options) side {
	group := func() {
		var g errgroup.Group
		for range o.many {
			g.Go(func() error { return nil })
		}
		if err := g.Wait(); err != nil {
			panic(err)
		}
	}
	return repeated(group)
}

func groupWaitGroup(o options) side {
	return repeated(func() {
		var g sync.WaitGroup
		for range o.many {
			g.Go(func() {})
		}
		g.Wait()
	})
}

func sleepGoroutines(o options) side {
	return repeated(func() {
		var g sync.WaitGroup
		for range o.many {
			g.Go(func() { time.Sleep(o.sleep) })
		}
		g.Wait()
	})
}

// repeated makes each operation a call of group, after a few calls to warm up.
func repeated(group func()) side {
	return func(c clock, n int) {
		for i := range warmBatches + n {
			if i == warmBatches {
				c.ResetTimer()
			}
			group()
		}
		c.StopTimer()
	}
}

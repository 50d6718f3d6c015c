package main

// This file measures how long it takes until another task runs, and until a task
// that yields runs again when no other is ready. An operation is one Yield: one
// task stops and one goes on. The rival does the least that iter.Pull needs to run
// a coroutine for one step: into it and back.

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"github.com/rondo-go/rondo"
)

// warmUp is how many operations a side does before it is measured.
const warmUp = 1000

// inLoop runs body as the main task of a loop. Nothing that a side does can fail,
// so an error is a bug of this program.
func inLoop(body func(ctx context.Context) error) {
	if err := rondo.Run(context.Background(), body); err != nil {
		panic(err)
	}
}

// turns is n operations, done by the given number of tasks in turns.
func turns(tasks int) func(options) side {
	return func(options) side {
		return func(c clock, n int) {
			inLoop(func(ctx context.Context) error {
				err := takeTurns(ctx, c, tasks, n)
				c.StopTimer()
				return err
			})
		}
	}
}

func takeTurns(ctx context.Context, c clock, tasks, n int) error {
	var start rondo.Event
	waiting := 0
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range tasks {
			count := share(n, tasks, i)
			g.Go(func(ctx context.Context) error {
				for range warmUp / tasks {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				waiting++
				if err := start.Wait(ctx); err != nil {
					return err
				}
				for range count {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		for waiting < tasks {
			if err := rondo.Yield(g); err != nil {
				return err
			}
		}
		c.ResetTimer()
		start.Set()
		return nil
	})
}

// goschedTurns is turns with goroutines that call runtime.Gosched.
func goschedTurns(count int) func(options) side {
	return func(options) side {
		return func(c clock, n int) {
			var ready, ended sync.WaitGroup
			start := make(chan struct{})
			ready.Add(count)
			for i := range count {
				ended.Go(func() {
					for range warmUp / count {
						runtime.Gosched()
					}
					ready.Done()
					<-start
					for range share(n, count, i) {
						runtime.Gosched()
					}
				})
			}
			ready.Wait()
			c.ResetTimer()
			close(start)
			ended.Wait()
			c.StopTimer()
		}
	}
}

// share returns how many of n operations task i does.
func share(n, tasks, i int) int {
	if i < n%tasks {
		return n/tasks + 1
	}
	return n / tasks
}

func coroutine() (next func() (struct{}, bool), stop func()) {
	return iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
}

func pull(options) side {
	return func(c clock, n int) {
		next, stop := coroutine()
		defer stop()
		for range warmUp {
			next()
		}
		c.ResetTimer()
		for range n {
			next()
		}
		c.StopTimer()
	}
}

// pullTask is pull with rondo.Pull, whose sequence may wait.
func pullTask(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			next, stop := rondo.Pull(ctx, func(yield func(struct{}) bool) {
				for yield(struct{}{}) {
				}
			})
			defer stop()
			for range warmUp {
				next()
			}
			c.ResetTimer()
			for range n {
				next()
			}
			c.StopTimer()
			return nil
		})
	}
}

// pullEach is pull with 1,000 coroutines in turn.
func pullEach(options) side {
	return func(c clock, n int) {
		nexts := make([]func() (struct{}, bool), 1000)
		for i := range nexts {
			next, stop := coroutine()
			defer stop()
			nexts[i] = next
			next()
		}
		c.ResetTimer()
		for i := range n {
			nexts[i%len(nexts)]()
		}
		c.StopTimer()
	}
}

package main

// Switch rows: how long it takes until another task runs, and until a task
// that yields runs again when no other is ready. An operation is one Yield: one
// task stops and one goes on. The rival does the least that iter.Pull needs to run
// a coroutine for one step: into it and back.

import (
	"context"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/rondo-go/rondo"
)

// warmUp is how many operations a side does before it is measured.
const warmUp = 1000

// warmLaps is how many turns all tasks take before the clock starts, so that waking them does
// not count. The last one to begin starts it: the others are less than a turn ahead.
const warmLaps = 20

// inLoop runs body as the main task of a loop. Nothing that a side does can fail,
// so an error is a bug of this program.
func inLoop(body func(ctx context.Context) error) {
	if err := rondo.Run(context.Background(), body); err != nil {
		panic(err)
	}
}

// An order is that in which a number of tasks begin to take turns, which they then keep.
type order func(tasks int) []int

// started is the order in which the tasks were started: a turn visits their records and stacks
// as memory has them.
func started(tasks int) []int {
	order := make([]int, tasks)
	for i := range order {
		order[i] = i
	}
	return order
}

// shuffled is a random order, the same in each run.
func shuffled(tasks int) []int { return rand.New(rand.NewPCG(1, 1)).Perm(tasks) }

// turns is n operations, done by the given number of tasks in turns.
func turns(tasks int, begin order) func(options) side {
	return func(options) side {
		return func(c clock, n int) {
			inLoop(func(ctx context.Context) error {
				err := takeTurns(ctx, c, begin(tasks), n)
				c.StopTimer()
				return err
			})
		}
	}
}

func takeTurns(ctx context.Context, c clock, order []int, n int) error {
	tasks, waiting := len(order), 0
	last := order[tasks-1]
	start := make([]rondo.Event, tasks)
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
				if err := start[i].Wait(ctx); err != nil {
					return err
				}
				for range warmLaps {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				if i == last {
					c.ResetTimer()
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
		for _, i := range order {
			start[i].Set()
		}
		return nil
	})
}

// goschedTurns is turns with goroutines that call runtime.Gosched.
func goschedTurns(count int, begin order) func(options) side {
	return func(options) side {
		return func(c clock, n int) {
			var ready, ended sync.WaitGroup
			start := make([]chan struct{}, count)
			order := begin(count)
			ready.Add(count)
			for i := range count {
				start[i] = make(chan struct{})
				ended.Go(func() {
					for range warmUp / count {
						runtime.Gosched()
					}
					ready.Done()
					<-start[i]
					for range warmLaps {
						runtime.Gosched()
					}
					if i == order[count-1] {
						c.ResetTimer()
					}
					for range share(n, count, i) {
						runtime.Gosched()
					}
				})
			}
			ready.Wait()
			for _, i := range order {
				close(start[i])
			}
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

// nexts calls next n times.
func nexts(next func() (struct{}, bool)) func(n int) {
	return func(n int) {
		for range n {
			next()
		}
	}
}

func pull(options) side {
	return func(c clock, n int) {
		next, stop := coroutine()
		defer stop()
		infallible(c, n, nexts(next))
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
			infallible(c, n, nexts(next))
			return nil
		})
	}
}

// pullEach is pull with 1,000 coroutines in turn.
func pullEach(options) side {
	return func(c clock, n int) {
		all := make([]func() (struct{}, bool), 1000)
		for i := range all {
			next, stop := coroutine()
			defer stop()
			all[i] = next
			next()
		}
		c.ResetTimer()
		for i := range n {
			all[i%len(all)]()
		}
		c.StopTimer()
	}
}

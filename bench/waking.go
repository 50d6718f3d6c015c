package main

// Rows of waits: an Event that wakes many tasks, a Semaphore, and a Cond
// with which two tasks take turns.

import (
	"context"
	"sync"

	"github.com/rondo-go/rondo"
)

// eventMany makes each operation a batch of tasks that wait on one Event, are woken
// by it, and end.
func eventMany(o options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			for i := range warmBatches + n {
				if i == warmBatches {
					c.ResetTimer()
				}
				var e rondo.Event
				err := rondo.Group(ctx, func(g *rondo.Scope) error {
					for range o.many {
						g.Go(e.Wait)
					}
					if err := rondo.Yield(g); err != nil { // all wait
						return err
					}
					e.Set()
					return nil
				})
				if err != nil {
					return err
				}
			}
			c.StopTimer()
			return nil
		})
	}
}

func channelMany(o options) side {
	return repeated(func() {
		var g sync.WaitGroup
		open := make(chan struct{})
		for range o.many {
			g.Go(func() { <-open })
		}
		close(open)
		g.Wait()
	})
}

// semaphoreTask makes each operation an Acquire and a Release.
func semaphoreTask(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			s := rondo.NewSemaphore(1)
			turn := func(n int) error {
				for range n {
					if err := s.Acquire(ctx); err != nil {
						return err
					}
					s.Release()
				}
				return nil
			}
			return warmed(c, n, turn)
		})
	}
}

func semaphoreChannel(options) side {
	return func(c clock, n int) {
		s := make(chan struct{}, 1)
		turn := func(n int) {
			for range n {
				s <- struct{}{}
				<-s
			}
		}
		infallible(c, n, turn)
	}
}

// condTasks makes each operation a Signal to another task and its answer.
func condTasks(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			var m rondo.Mutex
			cond := rondo.Cond{L: &m}
			mine := true
			// play takes n turns, one whenever mine equals my.
			play := func(ctx context.Context, n int, my bool) error {
				if err := m.Lock(ctx); err != nil {
					return err
				}
				defer m.Unlock()
				for range n {
					for mine != my {
						if err := cond.Wait(ctx); err != nil {
							return err
						}
					}
					mine = !mine
					cond.Signal()
				}
				return nil
			}
			other := rondo.Go(ctx, func(ctx context.Context) error { return play(ctx, warmUp+n, false) })
			if err := warmed(c, n, func(n int) error { return play(ctx, n, true) }); err != nil {
				return err
			}
			return other.Wait(ctx)
		})
	}
}

func condGoroutines(options) side {
	return func(c clock, n int) {
		var m sync.Mutex
		cond := sync.NewCond(&m)
		mine := true
		play := func(n int, my bool) {
			m.Lock()
			defer m.Unlock()
			for range n {
				for mine != my {
					cond.Wait()
				}
				mine = !mine
				cond.Signal()
			}
		}
		var other sync.WaitGroup
		other.Go(func() { play(warmUp+n, false) })
		infallible(c, n, func(n int) { play(n, true) })
		other.Wait()
	}
}

package main

// Modes in which tasks use CPU time and memory, and wait for locks.

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-go/rondo"
)

func init() {
	modes["costs"], modes["locks"], modes["shared"], modes["choice"] = costs, locks, shared, choice
}

// compute keeps the loop for a while.
//
//go:noinline
func compute(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		sum++
	}
}

// costs has a task with long steps, and then, so that these are measured alone, one
// that wakes another.
func costs(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		var bell rondo.WaitList
		hog := g.Go(func(ctx context.Context) error {
			for _, d := range []time.Duration{150, 2, 2} {
				if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
					return err
				}
				compute(d * time.Millisecond)
			}
			if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
			g.Go(func(ctx context.Context) error {
				for {
					if err := bell.Park(ctx, rondo.Reason{What: "bell"}); err != nil {
						return err
					}
				}
			}).SetName("sleeper")
			g.Go(func(ctx context.Context) error {
				for {
					if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
						return err
					}
					bell.Wake()
				}
			}).SetName("ringer")
			ready()
			return rondo.Sleep(ctx, time.Hour)
		})
		hog.SetName("hog")
		return rondo.Sleep(g, time.Hour)
	})
}

// locks has a lock with a holder, one whose holder has ended, and a queue that is full.
func locks(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		var held, lost rondo.Mutex
		var has rondo.Event
		held.Name, lost.Name = "held", "lost"
		full := rondo.NewQueue[int](1)
		full.Name = "full"
		holder := g.Go(func(ctx context.Context) error {
			if err := held.Lock(ctx); err != nil {
				return err
			}
			has.Set()
			return rondo.Sleep(ctx, time.Hour)
		})
		holder.SetName("holder")
		if err := errors.Join(g.Go(lost.Lock).Wait(g), has.Wait(g)); err != nil {
			return err
		}
		for range 3 {
			g.Go(held.Lock).SetName("waiter")
		}
		g.Go(lost.Lock).SetName("hopeless")
		for range 2 {
			g.Go(func(ctx context.Context) error { return full.Put(ctx, 1) }).SetName("putter")
		}
		if err := rondo.Sleep(g, time.Millisecond); err != nil {
			return err
		}
		ready()
		return rondo.Sleep(g, time.Hour)
	})
}

// shared has tasks that wait for an RWMutex, in a Select, and for room in their scope. A task that
// holds an RWMutex and one in its line wait for each other, and so do one that may not begin and the
// one that has to end before.
func shared(ctx context.Context) error {
	var read, written rondo.RWMutex
	read.Name, written.Name = "read", "written"
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		// Each waits before the next one begins: tasks that are ready have their turns in any order.
		start := func(name string, fn func(ctx context.Context) error) *rondo.Task {
			t := g.Go(fn)
			t.SetName(name)
			for t.Info().State != "waiting" {
				if rondo.Yield(g) != nil {
					break
				}
			}
			return t
		}
		var last *rondo.Task
		var begun rondo.Event
		reader := start("reader", func(ctx context.Context) error {
			return errors.Join(read.RLock(ctx), rondo.Sleep(ctx, time.Hour))
		})
		holder := start("holder", func(ctx context.Context) error {
			return errors.Join(written.Lock(ctx), begun.Wait(ctx), last.Wait(ctx))
		})
		start("writer", read.Lock)
		start("second reader", read.RLock)
		start("first in line", written.RLock)
		last = start("second in line", written.Lock)
		begun.Set()
		start("chooser", func(ctx context.Context) error {
			_, err := rondo.Select(ctx, reader.WaitCase(), holder.WaitCase())
			return err
		})
		start("limited", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				var second *rondo.Task
				g.SetLimit(1)
				g.Go(func(ctx context.Context) error { return second.Wait(ctx) }).SetName("first")
				second = g.Go(reader.Wait)
				second.SetName("second")
				g.Go(reader.Wait).SetName("third")
				return nil
			})
		})
		ready()
		return rondo.Sleep(g, time.Hour)
	})
}

// choice has a task with a lock that waits for two tasks in a Select, both of which want the lock.
func choice(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		var m rondo.Mutex
		var one, two *rondo.Task
		var has, begun rondo.Event
		g.Go(func(ctx context.Context) error {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			has.Set()
			if err := begun.Wait(ctx); err != nil {
				return err
			}
			_, err := rondo.Select(ctx, one.WaitCase(), two.WaitCase())
			return err
		}).SetName("chooser")
		if err := has.Wait(g); err != nil {
			return err
		}
		one, two = g.Go(m.Lock), g.Go(m.Lock)
		one.SetName("one")
		two.SetName("two")
		begun.Set()
		ready()
		return rondo.Sleep(g, time.Hour)
	})
}

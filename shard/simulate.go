package shard

// Shards in a simulation.
//
// The law: what a shard does is the same as on real loops, down to the boxes. Only how
// loops begin, end and are cancelled differs, because one goroutine runs them all, and
// because their host may crash: then a loop may end that has not begun, and those that wait for
// it end because nothing can wake them.

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// simulation returns the host of ctx's loop in a simulated cluster, where other loops can
// run beside it, or nil if there is none.
func simulation(ctx context.Context) driver.Host {
	if loop := kernel.Of(ctx); loop != nil && loop.Inside() {
		return driver.HostOf(loop.Driver())
	}
	return nil
}

// simulations counts the Runs that are simulated now.
var simulations atomic.Int32

// step is called before something is done that other shards see. In a simulation that
// goes through all orders, another shard may do something first.
func step() {
	if simulations.Load() == 0 {
		return
	}
	all := kernel.Loops()
	if i := slices.IndexFunc(all, kernel.Loop.Inside); i >= 0 {
		if host := driver.HostOf(all[i].Driver()); host != nil {
			host.Step()
		}
	}
}

// simulate is Run in a task of a simulation.
func (g *group) simulate(ctx context.Context, host driver.Host, main func(ctx context.Context, s *Shard) error) error {
	if err := rondo.Check(ctx); err != nil {
		return err
	}
	if Of(ctx) != nil {
		return &kernel.CallError{Call: "shard.Run", Text: " inside a shard: shards cannot run in a shard; start tasks with rondo.Go"}
	}
	simulations.Add(1)
	defer simulations.Add(-1)
	home, left := kernel.Of(ctx), len(g.shards)
	g.simulated = true // the world finds out by itself when nothing can go on
	var ended rondo.WaitList
	tasks := make([]*rondo.Task, len(g.shards)) // each belongs to its loop
	cancelled := false
	g.cancelled = func() bool { return cancelled }
	g.cancel = func(cause error) {
		cancelled = true
		for i, s := range g.shards {
			_ = s.box.put(action{fn: func() { tasks[i].Cancel(cause) }}, false)
		}
	}
	for i, s := range g.shards {
		host.RunBeside(s.name, func(ctx context.Context) error {
			tasks[i] = rondo.Current(ctx)
			var own error
			err := rondo.Group(ctx, func(all *rondo.Scope) error {
				defer all.Cancel(nil)
				own = s.run(all, main)
				return own
			})
			if own == nil && echoes(err, rondo.Check(ctx)) {
				err = nil // of Group, which unlike a loop says that it was cancelled
			}
			s.over = true
			if err != nil {
				g.fail(err)
			}
			return nil
		}, func() {
			byLoop.Delete(s.loop)
			// It fails only if nobody waits there. What shards share is left alone: the one that
			// crashes the host may be in the middle of a step.
			_ = home.Post(func() {
				left--
				ended.Wake()
			})
		})
	}
	home.AddWakers(1)
	defer home.AddWakers(-1)
	for cause := error(nil); left > 0; {
		if cause == nil {
			if cause = ended.Park(ctx, rondo.Reason{What: "shards"}); cause != nil {
				g.cancel(cause)
			}
			continue
		}
		_ = rondo.Shield(ctx, func(ctx context.Context) error { return ended.Park(ctx, rondo.Reason{What: "shards"}) })
	}
	return g.result()
}

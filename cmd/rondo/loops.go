package main

// A server of demo or echo, on one loop or on several.
//
// The law: what a verb has belongs to its first loop. The others only serve.

import (
	"context"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// loopsMax is far beyond what any machine can use.
const loopsMax = 1024

// loops adds the flag for how many loops there are.
func (o *options) loops(p *int) {
	*p = 1
	o.number(p, "loops", "a whole number from 1 to 1024", loopsMax)
}

// onLoops runs main on the first of n loops.
func onLoops(n int, name string, main func(ctx context.Context) error) error {
	runner := rondo.Runner{Name: name}
	if n == 1 {
		return runner.Run(context.Background(), main)
	}
	r := shard.Runner{Loops: n, Loop: runner}
	return r.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() > 0 {
			return nil
		}
		return main(ctx)
	})
}

// serveOnLoops serves on all loops that there are.
func serveOnLoops(ctx context.Context, s *socket.Server, l net.Listener) error {
	if shard.Of(ctx) == nil {
		return s.Serve(ctx, l)
	}
	return new(shard.ServeConfig).ServeListener(ctx, l.(*socket.Listener), s)
}

// A loopShare is how busy a loop is.
type loopShare struct {
	name string
	busy float64 // in percent
}

// loopShares returns how busy each loop has been, if there are several.
func loopShares(ctx context.Context) ([]loopShare, error) {
	if shard.Of(ctx) == nil {
		return nil, nil
	}
	return shard.Each(ctx, func(ctx context.Context, s *shard.Shard) (loopShare, error) {
		stats := rondo.LoopOf(ctx).Stats()
		return loopShare{s.Name(), 100 * float64(stats.Busy) / float64(stats.Busy+stats.Idle)}, nil
	})
}

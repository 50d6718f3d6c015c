package shard_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// simulated runs main on n shards of a simulated cluster.
func simulated(t *testing.T, seeds, n int, main func(ctx context.Context, s *shard.Shard) error, check func(seed int, err error)) {
	t.Helper()
	seed := 0
	sim.Config{Seeds: seeds, SeedsShort: seeds / 10}.Cluster(t, func(ctx context.Context, w *sim.World) {
		seed++
		r := shard.Runner{Loops: n}
		check(seed, r.Run(ctx, main))
	})
}

// TestSimServe: in a simulation a connection cannot be handed to another shard, and Serve
// says so.
func TestSimServe(t *testing.T) {
	simulated(t, 20, 2, func(ctx context.Context, s *shard.Shard) error {
		err := shard.Serve(ctx, "tcp", ":7", &socket.Server{Handler: func(context.Context, net.Conn) error { return nil }})
		if err == nil || !strings.Contains(err.Error(), "each shard is a host of its own") {
			t.Errorf("Serve returned %v", err)
		}
		return nil
	}, func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}

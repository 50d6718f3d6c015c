package main

// This file measures several loops: servers whose handlers compute, on all CPUs, with
// the load on the same ones. What counts is how long a request takes the machine, so
// the wall time of all requests is divided by their number.

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// hashed is how many bytes a handler hashes for a request of the row loops.
const hashed = 128 << 10

var zeros = make([]byte, hashed)

func loopsRow() row {
	return row{
		name: "loops", section: cores, run: loops,
		why: "A task never moves to another loop, and a goroutine runs on whichever processor is free. With the load on the same two, a loop that waits for its processor keeps its connections waiting.",
	}
}

// loops is run with the servers of one loop, of two, and of goroutines.
func loops(o options) (found []result, err error) {
	if _, _, err := processors(); err != nil {
		return nil, err
	}
	const conns = 50
	requests := max(conns, o.requests/16)
	var pairs []*pair
	defer func() { closeAll(pairs, &err) }()
	for _, s := range []server{
		{"shard", "shards", true, inGo("shard")},
		{"one", "one loop", false, inGo("rondo")},
		{"net", perGoroutine, false, inGo("net")},
	} {
		p := &pair{name: s.name, label: s.label, ours: s.ours, costs: make(map[string][]float64)}
		pairs = append(pairs, p)
		launch := func() (*process, error) {
			return s.launch(o, everyProcessor, "loops", serving{buffer: 4096, hashed: hashed})
		}
		if err := p.open(launch, everyProcessor, requests/4, "-conns", strconv.Itoa(conns), "-size", "64", "-depth", "1"); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	err = inTurns(o.rounds, pairs, func(p *pair) error {
		began := time.Now()
		if _, err := p.load.ask(strconv.Itoa(requests)); err != nil {
			return err
		}
		p.costs["wall"] = append(p.costs["wall"], float64(time.Since(began).Nanoseconds())/float64(requests))
		return nil
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("wall time of a request whose handler hashes %d KiB, 50 connections", hashed>>10)
	return compared(result{What: what, Unit: "ns"}, "wall", pairs, budgets{"shards": {"one loop": 1 / 1.6, perGoroutine: 1 / 0.95}}), nil
}

// serveShards serves on a loop for each CPU.
func serveShards(ctx context.Context, s serving) error {
	return shard.Run(ctx, func(ctx context.Context, me *shard.Shard) error {
		if me.Index() > 0 {
			return nil
		}
		l, err := socket.Listen(ctx, "tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		var c shard.ServeConfig
		return c.ServeListener(ctx, l, &socket.Server{Handler: func(_ context.Context, c net.Conn) error {
			handle(c, s)
			return nil
		}})
	})
}

// hash computes, if the row wants that.
func (s serving) hash() {
	if s.hashed > 0 {
		_ = sha256.Sum256(zeros[:s.hashed])
	}
}

package main

// This file measures several loops: servers on all CPUs, with the load on the same ones.
// What counts is how long a request takes the machine, so the wall time of all requests is
// divided by their number; and p99 of the latency.

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"runtime"
	"strconv"

	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// A loopsRow is a row: how much the handler of a request computes.
type loopsRow struct {
	name    string
	hashed  int     // bytes of a SHA-256; 0: none
	share   int     // a request takes so many times the work of a small one
	budgets budgets // for the wall time
	tail    budgets // for p99
}

// mostHashed is the most that a handler hashes for a request.
const mostHashed = 128 << 10

var zeros = make([]byte, mostHashed)

// Names of the parts of Rondo in these rows.
const (
	partShards = "shards"
	partOne    = "one loop"
)

func loopsRows() []row {
	list := []loopsRow{
		{name: "loops", share: 1},
		{name: "loops-16k", hashed: 16 << 10, share: 2},
		{
			name: "loops-128k", hashed: mostHashed, share: 8,
			budgets: budgets{partShards: {partOne: 1 / 1.6, perGoroutine: 1 / 0.95}},
			tail:    budgets{partShards: {perGoroutine: 1}},
		},
	}
	var all []row
	for _, l := range list {
		all = append(all, row{
			name: l.name, section: cores, run: l.run,
			why: "One loop uses one processor. With several, a task never moves to another loop, and a goroutine runs on whichever processor is free: a loop that waits for its processor, because the load or another program has it, keeps its connections waiting.",
		})
	}
	return all
}

// what describes the requests.
func (l loopsRow) what() string {
	const echo = "echo of 64 B, 50 connections, all CPUs"
	if l.hashed == 0 {
		return echo
	}
	return fmt.Sprintf("%s, the handler hashes %d KiB", echo, l.hashed>>10)
}

func (l loopsRow) run(o options) (found []result, err error) {
	if _, _, err := processors(); err != nil {
		return nil, err
	}
	const conns = 50
	requests := max(conns, o.requests/l.share)
	var pairs []*pair
	defer func() { closeAll(pairs, &err) }()
	var absent skipped
	for _, s := range []server{
		{"shard", partShards, true, inGo("shard")},
		{"one", partOne, false, inGo("rondo")},
		{"net", perGoroutine, false, inGo("net")},
		{"tokio", tokioThreads, false, inRust(runtime.NumCPU())},
	} {
		p := &pair{name: s.name, label: s.label, ours: s.ours, costs: make(map[string][]float64)}
		launch := func() (*process, error) {
			return s.launch(o, everyProcessor, l.name, serving{buffer: 4096, hashed: l.hashed})
		}
		err := p.open(launch, everyProcessor, requests/4, "-kind", "closed", "-conns", strconv.Itoa(conns), "-size", "64")
		if absent.takes(err) {
			continue
		}
		pairs = append(pairs, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if err := inTurns(o.rounds, pairs, func(p *pair) error { return p.loaded(requests) }); err != nil {
		return nil, err
	}
	found = l.results(pairs)
	return found, absent.orNil()
}

// loaded is a round: it records the wall time of a request, and p99.
func (p *pair) loaded(requests int) error {
	reply, err := p.load.ask(strconv.Itoa(requests))
	if err != nil {
		return err
	}
	var took, tail float64
	if _, err := fmt.Sscan(reply, &took, &tail); err != nil {
		return fmt.Errorf("the load answered %q: %w", reply, err)
	}
	p.costs["wall"] = append(p.costs["wall"], took/float64(requests))
	p.costs["p99"] = append(p.costs["p99"], tail)
	return nil
}

// results compares the shards with all others, and then the loop that is alone with those
// that are not Rondo's.
func (l loopsRow) results(pairs []*pair) (found []result) {
	for _, part := range []string{partShards, partOne} {
		var beside []*pair
		for _, p := range pairs {
			if p.ours = p.label == part; p.ours || p.label != partShards {
				beside = append(beside, p)
			}
		}
		found = append(found, compared(result{What: "wall time of a request, " + l.what(), Unit: "ns"}, "wall", beside, l.budgets)...)
		if part == partShards {
			found = append(found, compared(result{What: "p99 latency, " + l.what(), Unit: "ns"}, "p99", beside, l.tail)...)
		}
	}
	return found
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

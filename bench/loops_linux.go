package main

// Rows of several loops: servers on all CPUs, with the load on the same ones.
// What counts is how long a request takes the machine, so the wall time of all requests is
// divided by their number.

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"

	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// A loopsRow is a row: how much the handler of a request computes.
type loopsRow struct {
	name    string
	asks    string  // a name in exchanges; empty: an echo
	hashed  int     // bytes of a SHA-256; 0: none
	share   int     // a request takes so many times the work of a small one
	budgets budgets // for the wall time
}

// mostHashed is the most that a handler hashes for a request.
const mostHashed = 128 << 10

var zeros = make([]byte, mostHashed)

// Names of the parts of Rondo in these rows.
const (
	partShards = "shards"
	partOne    = "one loop"
)

// gnetLoops is gnet with as many loops as there are shards.
const gnetLoops = "gnet, a loop for each CPU"

// half is what takes some 50 µs.
const half = 88 << 10

// fewer is the budget of the wall time of a request where shards are to serve so many times the
// requests of net/http.
func fewer(times float64) budgets { return budgets{partShards: {netHTTP: 1 / times}} }

func loopsRows() []row {
	list := []loopsRow{
		{name: "loops", share: 1},
		{name: "loops-16k", hashed: 16 << 10, share: 2},
		{
			name: "loops-128k", hashed: mostHashed, share: 8,
			budgets: budgets{partShards: {partOne: 1 / 1.6, perGoroutine: 1 / 0.95, gnetLoops: 1 / 0.95}},
		},
		{name: "loops-http", asks: "hello", share: 2, budgets: fewer(1.1)},
		{name: "loops-http-88k", asks: "hello", hashed: half, share: 6, budgets: fewer(1)},
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
	request := "echo of 64 B, 50 connections, all CPUs"
	if l.asks != "" {
		request = "HTTP, small GET, 50 connections, all CPUs"
	}
	if l.hashed == 0 {
		return request
	}
	return fmt.Sprintf("%s, the handler hashes %d KiB", request, l.hashed>>10)
}

// servers are those of the row, and load is how they are asked.
func (l loopsRow) servers() (list []server, load []string) {
	if l.asks != "" {
		return []server{
			{"http-shard", partShards, true, inGo("http-shard")},
			{"http-one", partOne, false, inGo("http-one")},
			{"net-http", netHTTP, false, inGo("net-http")},
		}, []string{"-asks", l.asks}
	}
	return []server{
		{"shard", partShards, true, inGo("shard")},
		{"one", partOne, false, inGo("rondo")},
		{"net", perGoroutine, false, inGo("net")},
		{"gnet", gnetLoops, false, inGo("gnet-loops")},
		{"tokio", tokioThreads, false, inRust(runtime.NumCPU())},
	}, []string{"-size", "64"}
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
	list, load := l.servers()
	load = slices.Concat([]string{"-kind", "closed", "-conns", strconv.Itoa(conns)}, load)
	for _, s := range list {
		p := &pair{name: s.name, label: s.label, ours: s.ours, costs: make(map[string][]float64)}
		launch := func() (*process, error) {
			return s.launch(o, everyProcessor, l.name, serving{buffer: 4096, hashed: l.hashed})
		}
		err := p.open(launch, everyProcessor, requests/4, load...)
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

// loaded is a round: it records the wall time of a request.
func (p *pair) loaded(requests int) error {
	reply, err := p.load.ask(strconv.Itoa(requests))
	if err != nil {
		return err
	}
	took, err := strconv.ParseFloat(reply, 64)
	if err != nil {
		return fmt.Errorf("the load answered %q: %w", reply, err)
	}
	p.costs["wall"] = append(p.costs["wall"], took/float64(requests))
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

// serveHTTPShards serves HTTP on a loop for each CPU, and serveHTTPOne on one.
func serveHTTPShards(ctx context.Context, s serving) error {
	return serveHTTPOn(ctx, s, runtime.NumCPU())
}

func serveHTTPOne(ctx context.Context, s serving) error { return serveHTTPOn(ctx, s, 1) }

func serveHTTPOn(ctx context.Context, s serving, loops int) error {
	server := &httptask.Server{HTTP: http.Server{Handler: s.hello()}}
	r := shard.Runner{Loops: loops}
	return r.Run(ctx, func(ctx context.Context, me *shard.Shard) error {
		if me.Index() > 0 {
			return nil
		}
		l, err := socket.Listen(ctx, "tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return new(shard.ServeConfig).ServeListener(ctx, l, server)
	})
}

// hello is the handler of hello after what the row has it compute.
func (s serving) hello() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hash()
		hello(w, r)
	})
}

// hash computes, if the row wants that.
func (s serving) hash() {
	if s.hashed > 0 {
		_ = sha256.Sum256(zeros[:s.hashed])
	}
}

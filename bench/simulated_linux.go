package main

// The programs of the rows about package sim, and the way to run them outside a
// test.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// repeatedSeeds is how many seeds a test runs first, twice each, with a record of what
// happens in them.
const repeatedSeeds = 20

// A listening test keeps what package sim says of a failure.
type listening struct {
	testing.TB
	said *string
}

func (l listening) Fatalf(format string, args ...any) {
	*l.said = fmt.Sprintf(format, args...)
	l.FailNow()
}

// simulate lets use call Test or Cluster, which need a test. A test that is skipped is no
// failure.
func simulate(use func(t testing.TB)) error {
	testing.Init()
	if err := flag.CommandLine.Parse([]string{"-test.benchtime=1x"}); err != nil {
		return err
	}
	said := ""
	testing.Benchmark(func(b *testing.B) { use(listening{b, &said}) })
	if said != "" {
		return errors.New("the simulated program: " + said)
	}
	return nil
}

// The cluster is the one of rivals/simulators/src/bin/requests.rs.
const (
	serverHosts = 5
	clientHosts = 9
	messageSize = 64
	leastDelay  = 5 * time.Millisecond
	mostDelay   = 10 * time.Millisecond
)

// clusterRequests runs a cluster of 15 hosts for so much virtual time, and returns how
// many requests were answered.
func clusterRequests(length, pause time.Duration) (requests int, err error) {
	runs := 0
	c := sim.Config{Seeds: repeatedSeeds + 1, Exact: true, MaxSteps: 1 << 40, Network: sim.Network{Latency: leastDelay, Jitter: 1}}
	err = simulate(func(t testing.TB) {
		c.Cluster(t, func(ctx context.Context, w *sim.World) {
			if runs++; runs <= 2*repeatedSeeds {
				return // these are compared
			}
			hosts := make(map[string]*sim.Host)
			add := func(name string, boot func(ctx context.Context) error) {
				h := w.Host(name, boot)
				hosts[h.Addr().String()] = h
			}
			for i := range serverHosts {
				add(fmt.Sprint("server", i), func(ctx context.Context) error { return echoHost(ctx, w, hosts) })
			}
			for i := range clientHosts {
				server := fmt.Sprint("server", i%serverHosts)
				add(fmt.Sprint("client", i), func(ctx context.Context) error {
					c, err := dialHost(ctx, w, hosts, server)
					for message := make([]byte, messageSize); err == nil; requests++ {
						if _, err = c.Write(message); err == nil {
							_, err = io.ReadFull(c, message)
						}
						if err == nil && pause > 0 {
							err = rondo.Sleep(ctx, pause)
						}
					}
					return err
				})
			}
			_ = rondo.Sleep(ctx, length)
		})
	})
	return requests, err
}

// A delayed connection draws the latency of each message from turmoil's distribution: the
// part of an exponential one that is in whole milliseconds, up to a limit.
type delayed struct {
	net.Conn
	link *sim.Link
	draw func() float64
}

// delay returns a connection of the host of ctx.
func delay(ctx context.Context, w *sim.World, hosts map[string]*sim.Host, c net.Conn) (*delayed, error) {
	peer, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	return &delayed{Conn: c, link: w.Link(sim.HostOf(ctx), hosts[peer]), draw: sim.Rand(ctx).ExpFloat64}, nil
}

func (d *delayed) Write(p []byte) (int, error) {
	const rate = 5 // of turmoil's distribution, by default
	more := time.Duration((mostDelay-leastDelay).Seconds()*1000*d.draw()/rate) * time.Millisecond
	d.link.SetLatency(min(leastDelay+more, mostDelay))
	return d.Conn.Write(p)
}

func dialHost(ctx context.Context, w *sim.World, hosts map[string]*sim.Host, name string) (net.Conn, error) {
	c, err := socket.Dial(ctx, "tcp", name+":7")
	if err != nil {
		return nil, err
	}
	return delay(ctx, w, hosts, c)
}

// echoHost sends back what arrives.
func echoHost(ctx context.Context, w *sim.World, hosts map[string]*sim.Host) error {
	l, err := socket.Listen(ctx, "tcp", ":7")
	if err != nil {
		return err
	}
	return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
		d, err := delay(ctx, w, hosts, c)
		for message := make([]byte, messageSize); err == nil; {
			if _, err = io.ReadFull(d, message); err == nil {
				_, err = d.Write(message)
			}
		}
		return nil // the end of the run
	})
}

// A mistake is a program that has one, in one seed of many. The same is in
// rivals/simulators/src/bin/search.rs.
type mistake struct {
	name, what string
	body       func(ctx context.Context, fixed bool) (found bool)
}

var mistakes = []mistake{
	{"sim-lost-update", "an update lost among 18 tasks that only take steps", lostUpdate},
	{"sim-signal", "a signal in place of a broadcast", signalOne},
}

// seeds runs the body with n seeds, the first of which is given.
func seeds(first, n int, body func(t testing.TB, ctx context.Context)) (err error) {
	if err := os.Setenv("RONDO_SEED", fmt.Sprintf("%d-%d", first, first+n-1)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Unsetenv("RONDO_SEED")) }()
	return simulate(func(t testing.TB) {
		sim.Test(t, func(ctx context.Context) { body(t, ctx) })
	})
}

// run runs n seeds without the mistake.
func (m mistake) run(n int) error {
	return seeds(1, n, func(_ testing.TB, ctx context.Context) {
		if m.body(ctx, true) {
			panic(m.name + " has its mistake where it should have none")
		}
	})
}

// find returns with how many seeds the mistake is found. Each trial has seeds of its own.
func (m mistake) find(trial int) (until int, err error) {
	const most = 10_000
	runs := 0
	err = seeds(1+most*(trial-1), most, func(t testing.TB, ctx context.Context) {
		runs++
		if m.body(ctx, false) {
			if until = runs - repeatedSeeds; until <= repeatedSeeds {
				until = (runs + 1) / 2
			}
			t.SkipNow() // which ends the search
		}
	})
	if until == 0 && err == nil {
		err = fmt.Errorf("%s: not found in %d seeds", m.name, most)
	}
	return until, err
}

func yields(ctx context.Context, n int) {
	for range n {
		_ = rondo.Yield(ctx)
	}
}

// lostUpdate has two tasks that add to a number, one of which may not see what the other
// has added, among 18 that only take steps.
func lostUpdate(ctx context.Context, fixed bool) (found bool) {
	x := 0
	add := func(after int) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			yields(ctx, after)
			v := x
			if !fixed {
				yields(ctx, 1)
			}
			x = v + 1
			return nil
		}
	}
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(add(3))
		for range 18 {
			g.Go(func(ctx context.Context) error {
				yields(ctx, 5)
				return nil
			})
		}
		g.Go(add(5))
		return nil
	})
	return x != 2
}

// signalOne is a buffer for one value, with one Cond for full and for empty, on which a
// Signal may wake the wrong task: then all wait for ever.
func signalOne(ctx context.Context, fixed bool) (found bool) {
	var lock rondo.Mutex
	changed := rondo.Cond{L: &lock}
	full := false
	wake := changed.Signal
	if fixed {
		wake = changed.Broadcast
	}
	turn := func(ctx context.Context, to bool) error {
		if err := lock.Lock(ctx); err != nil {
			return err
		}
		defer lock.Unlock()
		for full == to {
			if err := changed.Wait(ctx); err != nil {
				return err
			}
		}
		full = to
		wake()
		return nil
	}
	return rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, to := range []bool{true, true, false, false} {
				g.Go(func(ctx context.Context) error {
					for range 2 {
						if err := turn(ctx, to); err != nil {
							return err
						}
						yields(ctx, 1)
					}
					return nil
				})
			}
			return nil
		})
	}) != nil
}

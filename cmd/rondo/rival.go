package main

// The rival of a demo does the same work with goroutines and package net, after it, in the same
// process and for as long.

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// A rival is how the work went with goroutines.
type rival struct {
	trips   histogram
	elapsed time.Duration
	cpu     time.Duration // of the process
}

// compete runs the rival of a demo.
func (d *demo) compete() (r *rival, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the goroutines cannot listen: %w", err)
	}
	var served sync.WaitGroup
	served.Go(func() { serveOnGoroutines(l, len(d.pattern)/2) })
	defer served.Wait()
	defer l.Close()
	conns := make([]net.Conn, 0, d.conns)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range d.conns {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return nil, fmt.Errorf("connection %s of %s of the goroutines failed: %w", count(len(conns)+1), count(d.conns), err)
		}
		conns = append(conns, c)
	}
	begun, used := time.Now(), processorTime()
	scores := make([]score, min(d.conns, scoresMost))
	var talking sync.WaitGroup
	for i, c := range conns {
		t := &scores[i%len(scores)]
		if err := c.SetDeadline(begun.Add(d.length)); err != nil {
			return nil, err
		}
		talking.Go(func() { t.end(d.talkOn(c, t)) })
	}
	talking.Wait()
	r = &rival{elapsed: time.Since(begun), cpu: processorTime() - used}
	for i := range scores {
		r.trips.add(&scores[i].trips)
		err = errors.Join(err, scores[i].err)
	}
	return r, err
}

// serveOnGoroutines sends back what comes, on a goroutine for each connection, and returns when l
// is closed and the last connection has ended.
func serveOnGoroutines(l net.Listener, room int) {
	var conns sync.WaitGroup
	defer conns.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return // it is closed
		}
		conns.Go(func() {
			defer c.Close()
			var sent int64
			_ = sendBack(c, make([]byte, room), &sent) // the client breaks off
		})
	}
}

// talkOn sends messages over c until its deadline.
func (d *demo) talkOn(c net.Conn, t *score) error {
	buf := make([]byte, len(d.pattern)/2)
	for sent := time.Now(); ; {
		if err := d.exchange(c, buf); err != nil {
			return err
		}
		back := time.Now()
		t.record(back.Sub(sent))
		sent = back
	}
}

// scoresMost is how many scores share the clients: so many that none waits for another.
const scoresMost = 16

// A score counts the round trips of some clients.
type score struct {
	mu    sync.Mutex
	trips histogram
	err   error // the first that is no deadline
}

func (t *score) record(d time.Duration) {
	t.mu.Lock()
	t.trips.record(d)
	t.mu.Unlock()
}

// end notes how a client has ended.
func (t *score) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.err = err
	}
}

// comparison is what is said after both have run.
func (d *demo) comparison(r *rival) string {
	perSecond := func(n uint64, t time.Duration) string {
		if t <= 0 {
			return "-"
		}
		return count(int64(float64(n) / t.Seconds()))
	}
	each := func(n uint64, t time.Duration) string {
		if n == 0 || t <= 0 {
			return "-"
		}
		return brief(t / time.Duration(n))
	}
	trip := func(h *histogram, q float64) string {
		if h.n == 0 {
			return "-"
		}
		return brief(h.quantile(q))
	}
	name := plural(max(d.loops, 1), "loop")
	rows := [][]string{
		{"", name, "goroutines"},
		{"processor time a message", each(d.trips.n, d.cpu), each(r.trips.n, r.cpu)},
		{"messages a second", perSecond(d.trips.n, d.elapsed()), perSecond(r.trips.n, r.elapsed)},
		{"processors in use", share(d.cpu, d.elapsed()), share(r.cpu, r.elapsed)},
		{"round trip, p50", trip(&d.trips, 0.50), trip(&r.trips, 0.50)},
		{"round trip, p99", trip(&d.trips, 0.99), trip(&r.trips, 0.99)},
	}
	return indented(align(rows)) +
		"\nA loop uses one processor, goroutines use all; with --loops N the server has more. To look into a\n" +
		"program like this, run rondo demo --for 1h, and in another terminal rondo tree or top.\n"
}

// share is how many processors were in use.
func share(cpu, elapsed time.Duration) string {
	if cpu <= 0 || elapsed <= 0 {
		return "-"
	}
	return figures(cpu.Seconds() / elapsed.Seconds())
}

package main

// The verb demo, from start to end. Its clients and its server are in
// exchange.go, its texts in summary.go.
//
// All that is in a demo belongs to its first loop, and has no lock.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

const (
	// unlimited stands for a number of files that no demo can reach.
	unlimited = 1 << 30

	// spare is how many files are open besides the connections.
	spare = 32

	sizeMax = 16 << 20
)

// A demo is one run of the verb.
type demo struct {
	conns  int
	length time.Duration
	size   int
	loops  int

	pattern []byte       // what messages consist of; see exchange
	scope   *rondo.Scope // the clients and what watches them; its end is the end
	ready   rondo.Event  // every client has its connection
	dialled int
	begun   time.Time // when ready was set; zero before
	ended   time.Time // when the scope was cancelled; zero before
	ender   string    // who ended it before its time
	trips   histogram
	echoed  int64         // bytes that the server sent back; all loops add to it
	home    *rondo.Loop   // the first loop
	shares  []loopShare   // of all loops, if there are several
	before  rondo.Stats   // when it began
	after   rondo.Stats   // when it ended
	cpu     time.Duration // of the process, from begin to end
	tasks   []rondo.TaskInfo
	halfway bool // tasks is how it was half-way through
}

func runDemo(c *console, args []string) error {
	d := &demo{conns: 1000, length: 5 * time.Second, size: 64}
	o := options{verb: "demo"}
	o.number(&d.conns, "conns", "a whole number from 1 up", math.MaxInt)
	o.span(&d.length, "for", 1)
	o.number(&d.size, "size", fmt.Sprintf("a number of bytes from 1 to %d", sizeMax), sizeMax)
	o.loops(&d.loops)
	alone := false
	o.flag(&alone, "alone")
	if err := o.parseAll(args); err != nil {
		return err
	}
	if err := d.fits(descriptors()); err != nil {
		return err
	}
	d.pattern = pattern(d.size)
	p := &progress{out: c.out, columns: func() int { return columns(c.out) }}
	err := onLoops(d.loops, "demo", func(ctx context.Context) error { return d.main(ctx, p) })
	if err != nil {
		return err
	}
	if err := c.print(d.summary()); err != nil || alone || d.ender != "" {
		return err
	}
	if err := c.print("\nThe same with goroutines and package net, for " + long(d.length) + ":\n\n"); err != nil {
		return err
	}
	r, err := d.compete()
	if err != nil {
		return err
	}
	return c.print(d.comparison(r))
}

// fits refuses more connections than there can be open files: each is open at
// both ends.
func (d *demo) fits(limit int) error {
	most := (limit - spare) / 2
	if d.conns <= most {
		return nil
	}
	advice := "raise the limit (ulimit -n)"
	if most > 0 {
		advice = fmt.Sprintf("use --conns %d, or %s", most, advice)
	}
	return fmt.Errorf("--conns %d takes two open files a connection, and a process here may have %s: %s", d.conns, count(limit), advice)
}

// main is the main task: it starts the server, lets the clients talk, and ends
// them and then the server.
func (d *demo) main(ctx context.Context, p *progress) error {
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot listen on this machine's own address: %w", err)
	}
	d.home = rondo.LoopOf(ctx)
	server := &socket.Server{Handler: d.answer, OnError: d.serverFailed}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			if err := serveOnLoops(ctx, server, l); !errors.Is(err, socket.ErrServerClosed) {
				return err
			}
			return nil
		}).SetName("server")
		err := rondo.Group(g, func(talk *rondo.Scope) error {
			d.scope = talk
			return d.talk(talk, l.Addr().String(), p)
		})
		if err == nil {
			d.shares, err = loopShares(g)
		}
		// The line goes before what comes is written, be that an error.
		if err := errors.Join(err, p.end(g)); err != nil {
			return err
		}
		return server.Shutdown(g)
	})
}

// talk starts the clients, and ends the scope when they have talked for as long
// as they should.
func (d *demo) talk(talk *rondo.Scope, address string, p *progress) error {
	interrupted := onInterrupt(talk)
	if err := p.write(talk, d.opening()); err != nil {
		return err
	}
	talk.Go(func(context.Context) error {
		name, err := interrupted()
		if err == nil && d.ended.IsZero() {
			d.ender = name
			d.end(nil)
		}
		return err
	}).SetName("interruption")
	talk.Go(func(ctx context.Context) error { return d.clients(ctx, address) }).SetName("clients")
	talk.Go(func(ctx context.Context) error { return d.watch(ctx, p) }).SetName("progress")
	if err := d.ready.Wait(talk); err != nil {
		return err
	}
	if err := rondo.SleepUntil(talk, d.begun.Add(d.length/2)); err != nil {
		return err
	}
	d.tasks, d.halfway = rondo.Tasks(talk), true
	if err := rondo.SleepUntil(talk, d.begun.Add(d.length)); err != nil {
		return err
	}
	d.end(nil)
	return nil
}

// begin lets the clients talk, and notes how things are.
func (d *demo) begin() {
	d.begun, d.before = rondo.Now(d.scope), rondo.LoopOf(d.scope).Stats()
	d.cpu = -processorTime()
	d.ready.Set()
}

// end cancels the scope of the clients, and notes how things are. It may be
// called in a callback, and a second time.
func (d *demo) end(cause error) {
	if !d.ended.IsZero() {
		return
	}
	if d.tasks == nil {
		d.tasks = rondo.Tasks(d.scope)
	}
	d.ended, d.after = rondo.Now(d.scope), rondo.LoopOf(d.scope).Stats()
	if !d.begun.IsZero() {
		d.cpu += processorTime()
	}
	d.scope.Cancel(cause)
}

package main

// The clients and the server of a demo, and the messages between them.

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

const (
	// piece is how much of a message is written at once. Two pieces are under
	// way at most, which every system holds between two sockets: so no side
	// waits to write while the other one does.
	piece = 16 << 10

	// dialling is how many clients connect at once: fewer than wait in the queue
	// of a listener on any system.
	dialling = 64
)

// pattern makes what messages of a size consist of: one piece, over and over. It
// is twice as long as that, so that what follows any offset in the first half is
// one slice.
func pattern(size int) []byte {
	p := make([]byte, min(size, piece))
	for i := range p {
		p[i] = byte(i + i>>8)
	}
	return append(p, p...)
}

// clients runs the clients, each in a task.
func (d *demo) clients(ctx context.Context, address string) error {
	places := rondo.NewQueue[struct{}](dialling)
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range d.conns {
			g.Go(func(ctx context.Context) error { return d.client(ctx, address, places) }).
				SetName(fmt.Sprintf("client %d", i+1))
		}
		return nil
	})
}

// client connects, waits until all have, and sends messages until it is
// cancelled.
func (d *demo) client(ctx context.Context, address string, places *rondo.Queue[struct{}]) error {
	if err := places.Put(ctx, struct{}{}); err != nil {
		return err
	}
	c, err := socket.Dial(ctx, "tcp", address)
	places.TryGet()
	if err != nil {
		if ended := rondo.Check(ctx); ended != nil {
			return ended // no failure of a client
		}
		return fmt.Errorf("connection %s of %s failed, try fewer: %w", count(d.dialled+1), count(d.conns), err)
	}
	defer c.Close()
	if d.dialled++; d.dialled == d.conns {
		d.begin()
	}
	if err := d.ready.Wait(ctx); err != nil {
		return err
	}
	buf := make([]byte, len(d.pattern)/2)
	for sent := rondo.Now(ctx); ; {
		if err := d.exchange(c, buf); err != nil {
			// The end of the demo is no failure of a client, so its error is returned bare.
			return cmp.Or(rondo.Check(ctx), err)
		}
		back := rondo.Now(ctx)
		d.trips.record(back.Sub(sent))
		sent = back
	}
}

// exchange sends one message and waits until all of it has come back.
func (d *demo) exchange(c net.Conn, buf []byte) error {
	period := len(d.pattern) / 2
	for sent, got := 0, 0; got < d.size; {
		if sent < d.size && sent-got <= period {
			n, err := c.Write(d.pattern[:min(period, d.size-sent)])
			if err != nil {
				return fmt.Errorf("sending a message: %w", err)
			}
			sent += n
			continue
		}
		n, err := c.Read(buf)
		if err != nil {
			return fmt.Errorf("waiting for a message to come back: %w", err)
		}
		if from := got % period; !bytes.Equal(buf[:n], d.pattern[from:from+n]) {
			return fmt.Errorf("a message came back changed after %s; please report this", plural(got, "byte"))
		}
		got += n
	}
	return nil
}

// answer is the server's part of a connection.
func (d *demo) answer(_ context.Context, c net.Conn) error {
	n := int64(0)
	err := sendBack(c, make([]byte, len(d.pattern)/2), &n)
	atomic.AddInt64(&d.echoed, n)
	return err
}

// serverFailed is called when the server fails. Once the clients have ended,
// connections break off, which is not a failure. It is called on any loop.
func (d *demo) serverFailed(_ net.Conn, err error) {
	_ = d.home.Post(func() {
		if d.ended.IsZero() {
			d.end(fmt.Errorf("the server failed: %w", err))
		}
	})
}

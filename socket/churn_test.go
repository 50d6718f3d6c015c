package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// TestChurn opens and closes connections on one loop that lives on, round after
// round: to a Server, to a Protocol, with pauses in which they are idle, and
// watches of their descriptors. After each round no task, timer or descriptor is
// left of it, and no goroutine but idle ones; after all rounds the heap has no more
// objects than in the middle. -soak sets how long it runs.
func TestChurn(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	start := time.Now()
	watchdog := time.AfterFunc(2*time.Minute+2**soakFor, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		c := &churn{t: t}
		if err := c.open(ctx); err != nil {
			return err
		}
		// The first rounds fill pools and grow tables.
		for range 3 {
			if err := c.turn(ctx); err != nil {
				return err
			}
		}
		before := c.measure(ctx)
		var middle churnState
		n := 0
		for ; n < rounds || time.Since(start) < *soakFor; n++ {
			if err := c.turn(ctx); err != nil {
				return err
			}
			now := c.measure(ctx)
			if now.tasks != before.tasks || now.timers != before.timers || now.fds > before.fds || now.goroutines > 2*before.goroutines {
				t.Fatalf("round %d: %+v before, %+v after", n, before, now)
			}
			if n == rounds/2 {
				middle = now
			}
		}
		last := c.measure(ctx)
		if last.objects > middle.objects+middle.objects/10+500 {
			t.Errorf("%d objects on the heap after %d rounds, %d after %d", middle.objects, rounds/2, last.objects, n)
		}
		t.Logf("%d rounds, %d connections: before %+v, in the middle %+v, at the end %+v", n, c.served, before, middle, last)
		return c.close(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

// churn is the two servers.
type churn struct {
	t        *testing.T
	server   *socket.Server
	addrs    [2]string
	ending   []*socket.Listener
	servers  []*rondo.Task
	served   int
	attached int // Transports without Lost
}

// churnState is what must not grow.
type churnState struct {
	tasks, timers, fds, goroutines int
	objects                        uint64
}

func (c *churn) open(ctx context.Context) error {
	c.server = &socket.Server{OnError: func(net.Conn, error) {}, Handler: func(_ context.Context, conn net.Conn) error {
		c.served++
		_, err := io.Copy(conn, conn)
		return err
	}}
	p := &socket.Protocol{
		Connected: func(*socket.Transport) { c.served++; c.attached++ },
		Data:      func(tr *socket.Transport, b []byte) { _, _ = tr.Write(b) },
		Lost:      func(*socket.Transport, error) { c.attached-- },
	}
	for i, serve := range []func(ctx context.Context, l net.Listener) error{c.server.Serve, p.Serve} {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		c.addrs[i] = l.Addr().String()
		c.ending = append(c.ending, l)
		c.servers = append(c.servers, rondo.Go(ctx, func(ctx context.Context) error {
			_ = serve(ctx, l) // the error of the closed listener
			return nil
		}))
	}
	return nil
}

func (c *churn) close(ctx context.Context) error {
	for i, l := range c.ending {
		l.Close()
		if err := c.servers[i].Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// turn is one round: 40 connections at once, which end in four ways.
func (c *churn) turn(ctx context.Context) error {
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range 40 {
			g.Go(func(ctx context.Context) error { return c.visit(ctx, i) })
		}
		return nil
	})
	if err != nil {
		return err
	}
	return until(ctx, func() bool { return c.server.Conns() == 0 && c.attached == 0 })
}

func (c *churn) visit(ctx context.Context, i int) error {
	conn, err := socket.Dial(ctx, "tcp", c.addrs[i%2])
	if err != nil {
		return err
	}
	defer conn.Close()
	tcp := conn.(*socket.Conn)
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	p := make([]byte, 1+i*500)
	err = both(ctx, func(context.Context) error { _, err := conn.Write(p); return err },
		func(context.Context) error { _, err := io.ReadFull(conn, make([]byte, len(p))); return err })
	if err != nil {
		return err
	}
	switch i / 2 % 4 {
	case 0: // idle, until a timeout ends the wait
		err := rondo.Timeout(ctx, time.Millisecond, func(context.Context) error {
			_, err := conn.Read(p)
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	case 1: // half-closed, to the end
		if err := tcp.CloseWrite(); err != nil {
			return err
		}
		if n, err := conn.Read(p); n != 0 || err != io.EOF {
			c.t.Errorf("%d, %v after the end", n, err)
		}
	case 2: // reset
		return tcp.SetLinger(0)
	case 3: // used by another goroutine too
		return outside(ctx, func() error { _, err := conn.Write([]byte("x")); return err })
	}
	return nil
}

// measure waits until goroutines and descriptors that are done are gone.
func (c *churn) measure(ctx context.Context) (s churnState) {
	for range 3 {
		_ = rondo.Sleep(ctx, 100*time.Microsecond)
	}
	s.objects = objects()
	stats := rondo.LoopOf(ctx).Stats()
	s.tasks, s.timers = stats.Tasks, stats.Timers
	s.fds, s.goroutines = leak.Descriptors(), runtime.NumGoroutine()
	return s
}

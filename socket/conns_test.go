package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// connsOf returns how many connections ctx's loop counts.
func connsOf(ctx context.Context) int { return kernel.Of(ctx).AddConns(0) }

// A link is an open connection of the loop, and its peer, which is package net's.
type link struct {
	conn   net.Conn
	tr     *socket.Transport // in place of conn
	lost   *rondo.Event      // of tr
	peer   net.Conn
	ending bool // the peer has closed its end
}

// exchange opens and closes connections at random, and knows which are open.
type exchange struct {
	t        *testing.T
	rand     *rand.Rand
	peers    net.Listener // of package net, to dial to
	own      net.Listener // of the loop
	protocol *socket.Protocol
	open     []*link
}

// dialled adds a connection that the loop has dialled.
func (x *exchange) dialled(ctx context.Context, c net.Conn) error {
	return outside(ctx, func() error {
		for {
			peer, err := x.peers.Accept()
			if err != nil {
				return err
			}
			if peer.RemoteAddr().String() == c.LocalAddr().String() {
				x.open = append(x.open, &link{conn: c, peer: peer})
				return nil
			}
			_ = peer.Close() // it came of a dial that was cancelled
		}
	})
}

// start opens a connection in one of the ways that there are.
func (x *exchange) start(ctx context.Context) error {
	to := x.peers.Addr().String()
	switch x.rand.IntN(6) {
	case 0: // by a task
		c, err := socket.Dial(ctx, "tcp", to)
		if err != nil {
			return err
		}
		return x.dialled(ctx, c)
	case 1: // by a goroutine
		var c net.Conn
		if err := outside(ctx, func() (err error) { c, err = socket.Dial(ctx, "tcp", to); return err }); err != nil {
			return err
		}
		return x.dialled(ctx, c)
	case 2: // cancelled after a while
		var c net.Conn
		dial := rondo.Go(ctx, func(ctx context.Context) (err error) { c, err = socket.Dial(ctx, "tcp", to); return err })
		for range x.rand.IntN(4) {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		dial.Cancel(nil)
		if _ = dial.Wait(ctx); c != nil {
			return x.dialled(ctx, c)
		}
	case 3: // accepted
		var peer net.Conn
		if err := outside(ctx, func() (err error) { peer, err = net.Dial("tcp", x.own.Addr().String()); return err }); err != nil {
			return err
		}
		c, err := x.own.Accept()
		if err != nil {
			return err
		}
		x.open = append(x.open, &link{conn: c, peer: peer})
	case 4: // of a file
		c, err := x.file(to)
		if err != nil {
			return err
		}
		defer c.Close()
		mine, err := socket.FileConn(ctx, c)
		if err != nil {
			return err
		}
		return x.dialled(ctx, mine)
	default: // in vain: nobody listens there
		if c, err := socket.Dial(ctx, "tcp", "127.0.0.1:1"); err == nil {
			return c.Close()
		}
	}
	return nil
}

// file returns the file of a connection that package net has dialled.
func (x *exchange) file(to string) (*os.File, error) {
	c, err := net.Dial("tcp", to)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.(*net.TCPConn).File()
}

// use does something with a connection that neither opens nor closes it.
func (x *exchange) use(ctx context.Context, l *link) error {
	switch x.rand.IntN(3) {
	case 0: // a read that is cancelled
		if l.tr == nil {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				reader := g.Go(func(ctx context.Context) error { _, _ = l.conn.Read(make([]byte, 1)); return nil })
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
				reader.Cancel(nil)
				return nil
			})
		}
	case 1: // a Protocol takes it over, which ends it if the peer has
		if l.tr == nil && !l.ending {
			lost := new(rondo.Event)
			tr, err := x.protocol.Attach(ctx, l.conn)
			if err != nil {
				return err
			}
			tr.Value = lost
			l.tr, l.lost = tr, lost
		}
	default: // the peer ends it
		if !l.ending && l.tr == nil {
			l.ending = true
			if err := l.peer.Close(); err != nil {
				return err
			}
			if _, err := l.conn.Read(make([]byte, 1)); err != io.EOF {
				return fmt.Errorf("a read of what the peer has closed: %w", err)
			}
		}
	}
	return nil
}

// end closes a connection. If the peer has not, it sees that.
func (x *exchange) end(ctx context.Context, l *link) error {
	switch {
	case l.tr != nil && x.rand.IntN(2) == 0 && !l.ending:
		l.ending = true
		if err := l.peer.Close(); err != nil {
			return err
		}
	case l.tr != nil && x.rand.IntN(2) == 0:
		l.tr.Abort()
	case l.tr != nil:
		l.tr.Close()
	case x.rand.IntN(2) == 0:
		if err := outside(ctx, l.conn.Close); err != nil {
			return err
		}
	default:
		if err := l.conn.Close(); err != nil {
			return err
		}
	}
	if l.lost != nil {
		if err := l.lost.Wait(ctx); err != nil {
			return err
		}
	}
	// Another one changes nothing.
	if l.conn.Close() == nil {
		x.t.Error("a second Close did not fail")
	}
	if l.ending {
		return nil
	}
	err := outside(ctx, func() error { _, err := io.Copy(io.Discard, l.peer); return err })
	return errors.Join(err, l.peer.Close())
}

// check compares the count with what the peers hold.
func (x *exchange) check(ctx context.Context, step string) {
	x.t.Helper()
	if n := connsOf(ctx); n != len(x.open) {
		x.t.Fatalf("%s: the loop counts %d connections, and its peers hold %d", step, n, len(x.open))
	}
}

// TestConnsModel: a loop counts the connections that are open, in whatever way they were
// opened, used and closed.
func TestConnsModel(t *testing.T) {
	for seed := range uint64(6) {
		run(t, func(ctx context.Context) error {
			x := &exchange{t: t, rand: rand.New(rand.NewPCG(seed, 9))}
			x.protocol = &socket.Protocol{Lost: func(tr *socket.Transport, _ error) { tr.Value.(*rondo.Event).Set() }}
			var err error
			if x.peers, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return err
			}
			defer x.peers.Close()
			if x.own, err = socket.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
				return err
			}
			defer x.own.Close()
			x.check(ctx, "none")
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 100 {
					step := fmt.Sprintf("seed %d, step %d: ", seed, i)
					switch n := len(x.open); {
					case n == 0 || n < 20 && x.rand.IntN(2) == 0:
						step, err = step+"open", x.start(g)
					case x.rand.IntN(2) == 0:
						step, err = step+"use", x.use(g, x.open[x.rand.IntN(n)])
					default:
						k := x.rand.IntN(n)
						l := x.open[k]
						x.open = slices.Delete(x.open, k, k+1)
						step, err = step+"close", x.end(g, l)
					}
					if err != nil {
						return fmt.Errorf("%s: %w", step, err)
					}
					x.check(ctx, step)
				}
				for len(x.open) > 0 {
					l := x.open[0]
					x.open = x.open[1:]
					if err := x.end(g, l); err != nil {
						return err
					}
				}
				x.check(ctx, "all closed")
				return nil
			})
		})
	}
}

// TestConnsOfServer: the connections of a server are counted, those of a Session that waits
// without a task too, and what is no connection is not. None is left when it is cancelled.
func TestConnsOfServer(t *testing.T) {
	run(t, func(ctx context.Context) error {
		const n = 8
		l := listen(t, ctx)
		packets, err := socket.ListenPacket(ctx, "udp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer packets.Close()
		p, q := socket.Pipe(ctx)
		defer p.Close()
		defer q.Close()
		s := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
			return func(context.Context) error {
				_, err := io.CopyN(c, c, 1)
				return err
			}
		}}
		serving := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		err = outside(ctx, func() error {
			for range n {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					return err
				}
				defer c.Close()
				if _, err := c.Write([]byte("x")); err != nil {
					return err
				}
				if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
					return err
				}
			}
			if got := connsOf(ctx); got != n {
				t.Errorf("%d connections are counted, and %d are open", got, n)
			}
			serving.Cancel(nil)
			return nil
		})
		if err != nil {
			return err
		}
		_ = serving.Wait(ctx)
		if got := connsOf(ctx); got != 0 {
			t.Errorf("%d connections are counted after the server's end", got)
		}
		return nil
	})
}

// TestConnsInCluster: two hosts that are connected count the same, whatever the order in
// which connections are opened, cancelled and closed.
func TestConnsInCluster(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		served := func() int { return -1 }
		w.Host("server", func(ctx context.Context) error {
			served = func() int { return connsOf(ctx) }
			return echoHost(ctx)
		})
		first, err := dialRetry(ctx, "server:7")
		if err != nil {
			t.Fatal(err)
		}
		open := []net.Conn{first}
		for step := range 40 {
			switch n := len(open); {
			case n == 0 || sim.Choose(ctx, 2) == 0:
				var c net.Conn
				// The network may need longer than that.
				_ = rondo.Timeout(ctx, time.Duration(sim.Choose(ctx, 10))*time.Millisecond, func(ctx context.Context) (err error) {
					c, err = socket.Dial(ctx, "tcp", "server:7")
					return err
				})
				if c != nil {
					open = append(open, c)
				}
			case sim.Choose(ctx, 3) == 0:
				_ = rondo.Timeout(ctx, time.Millisecond, func(context.Context) error {
					_, err := open[0].Read(make([]byte, 1))
					return err
				})
			default:
				k := sim.Choose(ctx, n)
				if err := open[k].Close(); err != nil {
					t.Error(err)
				}
				open = slices.Delete(open, k, k+1)
			}
			if n := connsOf(ctx); n != len(open) {
				t.Fatalf("step %d: the client counts %d connections and has %d", step, n, len(open))
			}
			if step%8 == 7 {
				if err := w.Eventually(ctx, time.Hour, func() bool { return served() == len(open) }); err != nil {
					t.Fatalf("step %d: the server counts %d connections, and the client has %d", step, served(), len(open))
				}
			}
		}
	})
}

package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// protocol serves p while body runs, and then closes the listener.
func protocol(t testing.TB, ctx context.Context, p *socket.Protocol, body func(ctx context.Context, addr string) error) error {
	t.Helper()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		l, err := socket.Listen(g, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		g.Go(func(ctx context.Context) error {
			if err := p.Serve(ctx, l); !errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("Serve returned %w", err)
			}
			return nil
		})
		defer l.Close()
		return body(g, l.Addr().String())
	})
}

// TestProtocolEcho: a server of callbacks and its clients on one loop.
func TestProtocolEcho(t *testing.T) {
	const conns, rounds = 200, 5
	lost := 0
	p := noted(t, &socket.Protocol{
		Data: func(tr *socket.Transport, b []byte) {
			if n, err := tr.Write(b); n != len(b) || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		},
		Lost: func(tr *socket.Transport, err error) {
			if lost++; err != nil {
				t.Errorf("Lost with %v", err)
			}
			if tr.LocalAddr() == nil || tr.RemoteAddr() == nil {
				t.Error("no address in Lost")
			}
		},
	})
	run(t, func(ctx context.Context) error {
		return protocol(t, ctx, p, func(ctx context.Context, addr string) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range conns {
					g.Go(func(ctx context.Context) error {
						c, err := socket.Dial(ctx, "tcp", addr)
						if err != nil {
							return err
						}
						defer c.Close()
						for r := range rounds {
							want := fmt.Sprintf("connection %d, round %d", i, r)
							if _, err := io.WriteString(c, want); err != nil {
								return err
							}
							got := make([]byte, len(want))
							if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
								return fmt.Errorf("got %q, %v, want %q", got, err, want)
							}
						}
						return nil
					})
				}
				return nil
			})
		})
	})
	if lost != conns {
		t.Errorf("%d were lost, of %d", lost, conns)
	}
}

// TestProtocolLimitsWrong: a Low above High, a Limit below it, or a negative one,
// panics.
func TestProtocolLimitsWrong(t *testing.T) {
	for _, p := range []*socket.Protocol{{High: 1, Low: 2}, {High: -1}, {Low: -1}, {High: 5, Low: -1},
		{Limit: -1}, {Limit: 64<<10 - 1}, {High: 5, Limit: 4}} {
		func() {
			defer func() {
				if v := recover(); !strings.Contains(fmt.Sprint(v), "rondo: socket.Protocol.Attach with ") {
					t.Errorf("High %d, Low %d: %v", p.High, p.Low, v)
				}
			}()
			p.Attach(context.Background(), nil)
		}()
	}
}

// TestProtocolScopeEnds: when their scope ends, connections in any state are
// aborted, and the scope waits for their Lost.
func TestProtocolScopeEnds(t *testing.T) {
	stop := errors.New("stop")
	var all []*history
	p := noted(t, &socket.Protocol{Connected: func(tr *socket.Transport) { all = append(all, tr.Value.(*history)) }})
	run(t, func(ctx context.Context) error {
		var peers []net.Conn
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			g.Go(func(ctx context.Context) error { return p.Serve(ctx, l) })
			for i := range 60 {
				c, err := socket.Dial(ctx, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				peers = append(peers, c)
				tr, peer := attached(t, g, p)
				peers = append(peers, peer)
				switch i % 6 {
				case 1:
					tr.PauseReading()
				case 2:
					tr.Write(make([]byte, 8<<20))
				case 3:
					tr.Write(make([]byte, 8<<20))
					tr.Close()
				case 4:
					tr.Write(make([]byte, 8<<20))
					tr.CloseWrite()
				case 5:
					tr.Write(make([]byte, 1<<20))
					peer.Close()
				}
			}
			if err := until(ctx, func() bool { return len(all) == 120 }); err != nil {
				return err
			}
			tr, peer := attached(t, g, p) // not connected yet
			peers = append(peers, peer)
			_ = tr
			g.Cancel(stop)
			return nil
		})
		if err != stop {
			t.Errorf("the Group returned %v", err)
		}
		for _, c := range peers {
			c.Close()
		}
		if len(all) != 121 {
			t.Errorf("%d connections", len(all))
		}
		for _, h := range all {
			if !h.lost() {
				t.Errorf("a connection is left: %s", h.calls)
			}
			if h.err != stop && !errors.As(h.err, new(*net.OpError)) {
				t.Errorf("Lost with %v", h.err)
			}
		}
		return nil
	})
}

// TestProtocolLoopEnds: connections end with their loop.
func TestProtocolLoopEnds(t *testing.T) {
	h := &history{t: t}
	run(t, func(ctx context.Context) error {
		tr, peer := attached(t, ctx, noted(t, &socket.Protocol{}))
		tr.Value = h
		t.Cleanup(func() { peer.Close() })
		return rondo.Yield(ctx)
	})
	if string(h.calls) != "CL" || !errors.Is(h.err, context.Canceled) {
		t.Errorf("%s, %v", h.calls, h.err)
	}
}

// TestProtocolMustNotWait: a callback that waits panics with an error that says
// so, the loop ends, and each connection gets its Lost.
func TestProtocolMustNotWait(t *testing.T) {
	for name, wait := range map[string]func(tr *socket.Transport, c net.Conn){
		"Sleep in a callback":                         func(tr *socket.Transport, _ net.Conn) { rondo.Sleep(tr.Context(), time.Second) },
		"Read in a callback: callbacks must not wait": func(_ *socket.Transport, c net.Conn) { c.Read(make([]byte, 1)) },
		"oops": func(*socket.Transport, net.Conn) { panic("oops") },
	} {
		var all []*history
		var peers []net.Conn
		func() {
			defer func() {
				var p *rondo.PanicError
				v := recover()
				if err, _ := v.(error); !errors.As(err, &p) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %v", name, v)
				}
			}()
			r := rondo.Runner{Recover: true}
			r.Run(context.Background(), func(ctx context.Context) error {
				p := noted(t, &socket.Protocol{
					Connected: func(tr *socket.Transport) { all = append(all, tr.Value.(*history)) },
					Data:      func(tr *socket.Transport, _ []byte) { wait(tr, peers[0]) },
				})
				for range 10 {
					_, peer := attached(t, ctx, p)
					peers = append(peers, peer)
				}
				if err := until(ctx, func() bool { return len(all) == 10 }); err != nil {
					return err
				}
				for _, c := range peers {
					io.WriteString(c, "x")
				}
				return rondo.Sleep(ctx, time.Hour)
			})
			t.Errorf("%s: Run returned", name)
		}()
		for _, h := range all {
			if !h.lost() {
				t.Errorf("%s: %s", name, h.calls)
			}
		}
		for _, c := range peers {
			c.Close()
		}
	}
}

// TestProtocolPanics: if callbacks panic, all connections still get their Lost.
func TestProtocolPanics(t *testing.T) {
	lost := 0
	var peers []net.Conn
	func() {
		defer func() { recover() }()
		rondo.Run(context.Background(), func(ctx context.Context) error {
			oops := func(*socket.Transport) { panic("oops") }
			p := &socket.Protocol{Connected: oops, Lost: func(tr *socket.Transport, _ error) { lost++; oops(tr) }}
			var mine []net.Conn
			for range 30 {
				c, peer := pair(t, ctx)
				mine, peers = append(mine, c), append(peers, peer)
			}
			for _, c := range mine {
				if _, err := p.Attach(ctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	for _, c := range peers {
		c.Close()
	}
	if lost != 30 {
		t.Errorf("%d were lost of 30", lost)
	}
}

// TestProtocolSimulated: a simulation has no descriptors, and the error says
// so.
func TestProtocolSimulated(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		x, _ := socket.Pipe(ctx)
		if _, err := new(socket.Protocol).Attach(ctx, x); !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
	})
}

// TestProtocolListenerCloses: when the listener is closed, what its connections
// have buffered is sent, and Serve returns after their Lost.
func TestProtocolListenerCloses(t *testing.T) {
	const size, conns = 4 << 20, 20
	lost := 0
	p := noted(t, &socket.Protocol{
		Connected: func(tr *socket.Transport) { tr.Write(make([]byte, size)) },
		Lost: func(_ *socket.Transport, err error) {
			if lost++; err != nil {
				t.Errorf("Lost with %v", err)
			}
		},
	})
	run(t, func(ctx context.Context) error {
		var readers []*rondo.Task
		err := protocol(t, ctx, p, func(g context.Context, addr string) error {
			for range conns {
				c, err := socket.Dial(g, "tcp", addr)
				if err != nil {
					return err
				}
				if _, err := c.Read(make([]byte, 1)); err != nil {
					return err
				}
				readers = append(readers, rondo.Go(ctx, func(context.Context) error {
					defer c.Close()
					n, err := io.Copy(io.Discard, c)
					if n != size-1 {
						t.Errorf("%d bytes came", n)
					}
					return err
				}))
			}
			return nil
		})
		if lost != conns {
			t.Errorf("%d were lost when Serve returned", lost)
		}
		for _, reader := range readers {
			err = errors.Join(err, reader.Wait(ctx))
		}
		return err
	})
}

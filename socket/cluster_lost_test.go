package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// exact is a cluster whose messages take between 1 and 2 ms.
func exact(t *testing.T, body func(ctx context.Context, w *sim.World)) {
	t.Helper()
	sim.Config{Network: quick, Exact: true, Seeds: 3, SeedsShort: 3}.Cluster(t, body)
}

// TestClusterCrashBehindCut has the peer crash while nothing reaches it, or nothing comes
// back: no reset passes a cut, and after Heal one comes.
func TestClusterCrashBehindCut(t *testing.T) {
	for _, both := range []bool{false, true} {
		exact(t, func(ctx context.Context, w *sim.World) {
			c, h := hostPair(ctx, t, w, func(ctx context.Context, c *socket.Conn) error {
				_ = rondo.Sleep(ctx, 1000*time.Hour)
				return nil
			})
			// What the system of h sends at the crash is lost, and not sent again after the
			// power failure, so that only an answer can tell.
			w.Cut(h, sim.HostOf(ctx))
			_ = rondo.Sleep(ctx, time.Second)
			h.Crash()
			_ = rondo.Sleep(ctx, 100*time.Millisecond)
			h.PowerFail()
			h.Restart()
			w.Heal()
			w.Cut(sim.HostOf(ctx), h)
			if both {
				w.Cut(h, sim.HostOf(ctx))
			}
			if _, err := c.Write([]byte("lost")); err != nil {
				t.Error("Write:", err)
			}
			_ = c.SetReadDeadline(rondo.Now(ctx).Add(5 * time.Second))
			_, err := c.Read(make([]byte, 1))
			is(t, "Read during the cut", err, os.ErrDeadlineExceeded)
			w.Heal()
			_ = c.SetReadDeadline(rondo.Now(ctx).Add(time.Minute))
			_, err = c.Read(make([]byte, 1))
			is(t, "Read after Heal", err, syscall.ECONNRESET)
		})
	}
}

// TestClusterPeerGivesUp: a reader learns that its peer knows the connection no more, although
// nothing that the peer has sent at its end arrives, and reads nothing after the error. So does
// the peer's system if only the reader gives up.
func TestClusterPeerGivesUp(t *testing.T) {
	wait := func(ctx context.Context, _ *socket.Conn) error { return rondo.Sleep(ctx, 1000*time.Hour) }
	for name, one := range map[string]struct {
		peer func(ctx context.Context, c *socket.Conn) error
		fail func(ctx context.Context, w *sim.World, c *socket.Conn, h *sim.Host)
		want error
	}{
		"the end is lost with the power": {wait, func(ctx context.Context, w *sim.World, _ *socket.Conn, h *sim.Host) {
			h.Crash()
			_ = rondo.Sleep(ctx, time.Second)
			h.PowerFail()
			_ = rondo.Sleep(ctx, time.Second)
			h.Restart()
			w.Heal()
		}, syscall.ECONNRESET},
		"the end is given up": {wait, func(ctx context.Context, w *sim.World, _ *socket.Conn, h *sim.Host) {
			h.Crash()
			_ = rondo.Sleep(ctx, 16*time.Minute)
			w.Heal()
		}, syscall.ECONNRESET},
		"data is given up": {func(ctx context.Context, c *socket.Conn) error {
			_ = rondo.Sleep(ctx, 2*time.Second)
			_, err := io.WriteString(c, "lost")
			_, failed := c.Read(make([]byte, 1))
			is(t, "Read of the peer", failed, syscall.ETIMEDOUT)
			return errors.Join(err, c.Close())
		}, func(ctx context.Context, w *sim.World, _ *socket.Conn, _ *sim.Host) {
			_ = rondo.Sleep(ctx, 16*time.Minute)
			w.Heal()
		}, syscall.ECONNRESET},
		"what a goroutine wrote is lost with the power": {func(ctx context.Context, c *socket.Conn) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error {
				_, err := c.Write(make([]byte, 100<<10))
				return errors.Join(err, c.Close())
			})
		}, func(ctx context.Context, w *sim.World, _ *socket.Conn, h *sim.Host) {
			w.Heal()
			_ = rondo.Sleep(ctx, time.Minute)
			h.PowerFail()
			h.Restart()
		}, syscall.ECONNRESET},
		"the reader gives up": {func(ctx context.Context, c *socket.Conn) error {
			for {
				if _, err := io.WriteString(c, "data"); err != nil {
					is(t, "Write of the peer", err, syscall.ECONNRESET)
					return nil
				}
				if err := rondo.Sleep(ctx, time.Minute); err != nil {
					t.Error("the peer has not learned it")
					return err
				}
			}
		}, func(ctx context.Context, w *sim.World, c *socket.Conn, h *sim.Host) {
			w.Heal()
			w.Cut(sim.HostOf(ctx), h)
			if _, err := io.WriteString(c, "lost"); err != nil {
				t.Error("Write:", err)
			}
			_ = rondo.Sleep(ctx, 16*time.Minute)
			w.Heal()
		}, syscall.ETIMEDOUT},
	} {
		t.Run(name, func(t *testing.T) {
			n := quick
			n.Buffer = 16 << 10
			sim.Config{Network: n, Exact: true, Goroutines: true, Seeds: 3, SeedsShort: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
				c, h := hostPair(ctx, t, w, one.peer)
				_ = rondo.Sleep(ctx, time.Second)
				w.Partition([]*sim.Host{h}, nil)
				one.fail(ctx, w, c, h)
				_ = c.SetReadDeadline(rondo.Now(ctx).Add(time.Hour))
				_, err := io.Copy(io.Discard, c)
				is(t, "Read", err, one.want)
				_ = rondo.Sleep(ctx, 10*time.Minute)
				if all, err := io.ReadAll(c); len(all) > 0 || err != nil {
					t.Errorf("%q, %v after the error", all, err)
				}
			})
		})
	}
}

// TestClusterAnswerLost has the answer to a request for a connection not pass: the dial
// goes on, and succeeds after Heal and Release.
func TestClusterAnswerLost(t *testing.T) {
	exact(t, func(ctx context.Context, w *sim.World) {
		accepted := 0
		h := w.Host("server", answering(":7", func(_ context.Context, c net.Conn) error {
			accepted++
			_, err := io.Copy(c, c)
			return err
		}))
		_ = rondo.Sleep(ctx, time.Second)
		back := w.Link(h, sim.HostOf(ctx))
		for _, stop := range []func(){back.Hold, func() { w.Cut(h, sim.HostOf(ctx)) }} {
			before := accepted
			dial := rondo.Async(ctx, func(ctx context.Context) (net.Conn, error) { return socket.Dial(ctx, "tcp", "server:7") })
			rondo.Go(ctx, func(ctx context.Context) error {
				if err := rondo.Sleep(ctx, 2*time.Millisecond); err != nil {
					return err
				}
				stop()
				return nil
			})
			_ = rondo.Sleep(ctx, 100*time.Millisecond)
			if dial.Done() {
				t.Error("the dial ended although nothing comes back")
			}
			back.Release()
			w.Heal()
			c, err := dial.Wait(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprint(c, "x"); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil || accepted != before+1 {
				t.Errorf("%v, %d accepted", err, accepted-before)
			}
			c.Close()
		}
	})
}

// writeAfterEnd writes to a peer that has closed: the first Write asks for a reset, after
// which Read returns the end as before, and Write fails.
func writeAfterEnd(ctx context.Context, t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Error("Read:", err)
	}
	if _, err := c.Write([]byte("x")); err != nil {
		t.Error("Write:", err)
	}
	_ = rondo.Sleep(ctx, 50*time.Millisecond)
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Error("Read after the reset:", err)
	}
	_, err := c.Write([]byte("x"))
	is(t, "Write after the reset", err, syscall.EPIPE)
}

// TestClusterWriteAfterEnd does the same on the network of the system and in a cluster.
func TestClusterWriteAfterEnd(t *testing.T) {
	run(t, func(ctx context.Context) error {
		peer, c := pair(t, ctx)
		if err := peer.Close(); err != nil {
			return err
		}
		writeAfterEnd(ctx, t, c)
		return nil
	})
	exact(t, func(ctx context.Context, w *sim.World) {
		c, _ := hostPair(ctx, t, w, func(_ context.Context, c *socket.Conn) error { return c.Close() })
		writeAfterEnd(ctx, t, c)
	})
}

// TestClusterListenerClosed closes a listener before it has accepted a connection that its client
// has: the client gets a reset, as on Linux, also if what it sent had not yet arrived.
func TestClusterListenerClosed(t *testing.T) {
	reset := func(t *testing.T, c net.Conn) {
		t.Helper()
		_, err := c.Read(make([]byte, 1))
		is(t, "Read", err, syscall.ECONNRESET)
		c.Close()
	}
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		l.Close()
		reset(t, c)
		return nil
	})
	for _, held := range []bool{false, true} {
		sim.Config{Network: quick, Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
			h := w.Host("server", func(ctx context.Context) error {
				l, err := socket.Listen(ctx, "tcp", ":7")
				if err != nil {
					return err
				}
				_ = rondo.Sleep(ctx, 2*time.Second)
				return errors.Join(l.Close(), rondo.Sleep(ctx, time.Hour))
			})
			_ = rondo.Sleep(ctx, time.Second)
			c, err := socket.Dial(ctx, "tcp", "server:7")
			if err != nil {
				t.Fatal(err)
			}
			if held {
				w.Link(sim.HostOf(ctx), h).Hold()
			}
			_ = rondo.Sleep(ctx, 2*time.Second)
			w.Link(sim.HostOf(ctx), h).Release()
			reset(t, c)
		})
	}
}

// TestClusterCloseRead reads after CloseRead what had arrived before, as on Linux.
func TestClusterCloseRead(t *testing.T) {
	exact(t, func(ctx context.Context, w *sim.World) {
		c, _ := hostPair(ctx, t, w, func(ctx context.Context, c *socket.Conn) error {
			_, err := io.WriteString(c, "hello")
			return errors.Join(err, rondo.Sleep(ctx, time.Hour))
		})
		_ = rondo.Sleep(ctx, time.Second)
		if err := c.CloseRead(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(c); string(got) != "hello" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestClusterReusePort has two listeners share a port: both serve, and when one closes
// the other serves all.
func TestClusterReusePort(t *testing.T) {
	exact(t, func(ctx context.Context, w *sim.World) {
		var served [2]int
		var listeners [2]*socket.Listener
		w.Host("server", func(ctx context.Context) error {
			for i := range listeners {
				l, err := (&socket.ListenConfig{ReusePort: true}).Listen(ctx, "tcp", ":7")
				if err != nil {
					return err
				}
				listeners[i] = l
				rondo.Go(ctx, func(ctx context.Context) error {
					for {
						c, err := l.Accept()
						if err != nil {
							return nil
						}
						served[i]++
						c.Close()
					}
				})
			}
			_ = rondo.Sleep(ctx, 10*time.Second)
			listeners[0].Close()
			return rondo.Sleep(ctx, time.Hour)
		})
		dial := func() {
			for range 20 {
				if c, err := socket.Dial(ctx, "tcp", "server:7"); err != nil {
					t.Error(err)
				} else {
					c.Close()
				}
				_ = rondo.Sleep(ctx, 100*time.Millisecond)
			}
		}
		_ = rondo.Sleep(ctx, time.Second)
		dial()
		first := served
		if first[0] == 0 || first[1] == 0 {
			t.Errorf("the listeners got %v connections", first)
		}
		_ = rondo.Sleep(ctx, 10*time.Second)
		dial()
		if served[0] != first[0] || served[1] != first[1]+20 {
			t.Errorf("after the first was closed the listeners got %v connections, before %v", served, first)
		}
	})
}

// TestPowerFailLeavesInFlight has what left a host before its power failed arrive.
func TestPowerFailLeavesInFlight(t *testing.T) {
	c := sim.Config{Seeds: 100, SeedsShort: 100, Network: sim.Network{Latency: 50 * time.Millisecond, PacketLoss: 0.1}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		sent := false
		h := w.Host("a", answering(":1", func(ctx context.Context, c net.Conn) error {
			for range 3 {
				if _, err := io.WriteString(c, "word"); err != nil {
					return err
				}
			}
			sent = true
			return rondo.Sleep(ctx, time.Hour)
		}))
		_ = rondo.Sleep(ctx, time.Second)
		c, err := socket.Dial(ctx, "tcp", "a:1")
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Eventually(ctx, time.Minute, func() bool { return sent })
		h.PowerFail()
		got, err := io.ReadAll(c)
		if err == nil {
			t.Error("the connection has ended in order")
		}
		if !strings.HasPrefix("wordwordword", string(got)) {
			t.Errorf("got %q", got)
		}
		sim.Sometimes(ctx, len(got) == 12, "all that left it arrives")
		sim.Sometimes(ctx, len(got) < 12, "what was lost is not sent again")
	})
}

package socket_test

import (
	"bufio"
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

// quick is a network on which a message takes between 1 and 2 ms.
var quick = sim.Network{Latency: time.Millisecond, Jitter: time.Millisecond, Tail: 1}

// after returns how much virtual time fn takes.
func after(ctx context.Context, fn func()) time.Duration {
	began := rondo.Now(ctx)
	fn()
	return rondo.Now(ctx).Sub(began)
}

// between fails unless least <= d <= most.
func between(t *testing.T, what string, d, least, most time.Duration) {
	t.Helper()
	if d < least || d > most {
		t.Errorf("%s took %v, want %v to %v", what, d, least, most)
	}
}

// is fails unless err is what is wanted.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// begins fails the test unless an error begins with an operation and its address.
func begins(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, which does not begin with %q", err, want)
	}
}

// silent accepts on port 7 and does nothing with the connections.
func silent(ctx context.Context) error {
	return answering(":7", func(ctx context.Context, c net.Conn) error {
		_ = rondo.Sleep(ctx, 1000*time.Hour)
		return nil
	})(ctx)
}

// TestClusterDial holds what a dial finds: nobody, nothing, a full backlog, silence.
func TestClusterDial(t *testing.T) {
	(&sim.Config{Network: quick, Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		up := w.Host("up", silent)
		down := w.Host("down", silent)
		full := w.Host("full", func(ctx context.Context) error {
			_, err := (&socket.ListenConfig{Backlog: 1}).Listen(ctx, "tcp", ":7")
			if err != nil {
				return err
			}
			return rondo.Sleep(ctx, time.Hour)
		})
		_ = rondo.Sleep(ctx, time.Second)
		_, err := socket.Dial(ctx, "tcp", "up:8")
		is(t, "no listener", err, syscall.ECONNREFUSED)
		if want := "dial tcp " + up.Addr().String() + ":8: connect: connection refused"; err == nil || err.Error() != want {
			t.Errorf("%v, want %v", err, want)
		}
		_, err = socket.Dial(ctx, "tcp", "nobody:7")
		if e, ok := errors.AsType[*net.DNSError](err); !ok || !e.IsNotFound {
			t.Errorf("no such host: %v", err)
		}
		_, err = socket.Dial(ctx, "tcp", "192.0.2.1:7")
		is(t, "no such address", err, syscall.EHOSTUNREACH)
		down.PowerFail()
		between(t, "the system's time-out", after(ctx, func() {
			_, err = socket.Dial(ctx, "tcp", "down:7")
			is(t, "no power", err, syscall.ETIMEDOUT)
		}), 100*time.Second, 200*time.Second)
		between(t, "the Dialer's", after(ctx, func() {
			_, err = (&socket.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", "down:7")
			is(t, "no power", err, os.ErrDeadlineExceeded)
		}), time.Second, time.Second)
		for i := range 2 {
			_, err = (&socket.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", "full:7")
			if i == 0 && err != nil || i == 1 && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("dial %d of a backlog of 1: %v", i, err)
			}
		}
		if !full.Up() || down.Up() || !up.Up() {
			t.Error("the wrong hosts are up")
		}
		_, err = (&socket.Dialer{Control: func(string, string, syscall.RawConn) error { return nil }}).DialContext(ctx, "tcp", "up:7")
		if err == nil || !strings.Contains(err.Error(), "leave these fields nil") {
			t.Errorf("with a hook: %v", err)
		}
	})
}

// TestClusterListen holds which addresses can be had.
func TestClusterListen(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		l, err := socket.Listen(ctx, "tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		_, err = socket.Listen(ctx, "tcp", l.Addr().String())
		is(t, "taken", err, syscall.EADDRINUSE)
		begins(t, err, "listen tcp "+l.Addr().String()+": bind: ")
		_, err = socket.Listen(ctx, "tcp", "192.0.2.1:0")
		is(t, "not mine", err, syscall.EADDRNOTAVAIL)
		address := l.Addr().String()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		_, err = l.Accept()
		is(t, "closed", err, net.ErrClosed)
		if l, err = socket.Listen(ctx, "tcp", address); err != nil {
			t.Fatal("after Close:", err)
		}
		if err := l.SetDeadline(rondo.Now(ctx).Add(time.Second)); err != nil {
			t.Error(err)
		}
		between(t, "Accept", after(ctx, func() {
			_, err = l.Accept()
			is(t, "deadline", err, os.ErrDeadlineExceeded)
		}), time.Second, time.Second)
		for range 2 {
			if _, err := (&socket.ListenConfig{ReusePort: true}).Listen(ctx, "tcp", ":99"); err != nil {
				t.Error("ReusePort:", err)
			}
		}
		_, err = l.File()
		is(t, "File", err, errors.ErrUnsupported)
		c, err := socket.Dial(ctx, "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.(*socket.Conn).File()
		is(t, "File", err, errors.ErrUnsupported)
		for _, err := range []error{c.(*socket.Conn).SetNoDelay(true), c.(*socket.Conn).SetKeepAlive(true), c.(*socket.Conn).SetReadBuffer(1 << 16)} {
			if err != nil {
				t.Error("an option:", err)
			}
		}
	})
}

// hostPair returns the two ends of a connection between the test and a host.
func hostPair(ctx context.Context, t *testing.T, w *sim.World, body func(ctx context.Context, c *socket.Conn) error) (*socket.Conn, *sim.Host) {
	t.Helper()
	h := w.Host("peer", func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", ":7")
		if err != nil {
			return err
		}
		c, err := l.Accept()
		if err != nil {
			return err
		}
		return body(ctx, c.(*socket.Conn))
	})
	c, err := dialRetry(ctx, "peer:7")
	if err != nil {
		t.Fatal(err)
	}
	return c.(*socket.Conn), h
}

// TestClusterHalfClose has one direction end and the other go on.
func TestClusterHalfClose(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		c, _ := hostPair(ctx, t, w, func(_ context.Context, c *socket.Conn) error {
			all, err := io.ReadAll(c)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c, "%d bytes", len(all))
			return errors.Join(err, c.Close())
		})
		if _, err := c.Write(make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		if err := c.CloseWrite(); err != nil {
			t.Error(err)
		}
		_, err := c.Write([]byte("x"))
		is(t, "after CloseWrite", err, syscall.EPIPE)
		if all, err := io.ReadAll(c); err != nil || string(all) != "1000 bytes" {
			t.Errorf("%q, %v", all, err)
		}
	})
}

// TestClusterShortReads has reads end before what has arrived does: nothing comes after it that
// would wake the reader.
func TestClusterShortReads(t *testing.T) {
	network := quick
	network.ShortReads = 1
	(&sim.Config{Network: network, Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		c, _ := hostPair(ctx, t, w, func(_ context.Context, c *socket.Conn) error {
			if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
				return err
			}
			_, err := c.Write([]byte("x"))
			return err
		})
		if _, err := c.Write(make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	})
}

// TestClusterReset has an end with unread data closed: the other end gets a reset.
func TestClusterReset(t *testing.T) {
	(&sim.Config{Network: quick, Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		c, _ := hostPair(ctx, t, w, func(ctx context.Context, c *socket.Conn) error {
			_ = rondo.Sleep(ctx, time.Second)
			return c.Close()
		})
		if _, err := c.Write([]byte("never read")); err != nil {
			t.Error(err)
		}
		_, err := c.Read(make([]byte, 1))
		is(t, "Read", err, syscall.ECONNRESET)
		_, err = c.Write([]byte("x"))
		is(t, "Write", err, syscall.EPIPE)
	})
}

// TestClusterBackpressure has a writer wait for a reader, and a deadline end that wait.
func TestClusterBackpressure(t *testing.T) {
	network := quick
	network.Buffer = 10_000
	(&sim.Config{Network: network, Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		c, _ := hostPair(ctx, t, w, func(ctx context.Context, c *socket.Conn) error {
			_ = rondo.Sleep(ctx, 10*time.Second)
			n, err := io.Copy(io.Discard, c)
			if n != 25_000 {
				return fmt.Errorf("%d bytes, %v", n, err)
			}
			return err
		})
		if err := c.SetWriteDeadline(rondo.Now(ctx).Add(time.Second)); err != nil {
			t.Error(err)
		}
		n, err := c.Write(make([]byte, 15_000))
		is(t, "Write", err, os.ErrDeadlineExceeded)
		if n != 10_000 {
			t.Errorf("%d bytes were taken, want 10000", n)
		}
		if err := c.SetWriteDeadline(time.Time{}); err != nil {
			t.Error(err)
		}
		between(t, "Write", after(ctx, func() {
			if _, err := c.Write(make([]byte, 15_000)); err != nil {
				t.Error(err)
			}
		}), 8*time.Second, 10*time.Second)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		_ = rondo.Sleep(ctx, time.Second) // the peer reads it
	})
}

// TestClusterBandwidth holds how long many bytes take.
func TestClusterBandwidth(t *testing.T) {
	network := quick
	network.Bandwidth = 1 << 18
	(&sim.Config{Network: network, Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		c, _ := hostPair(ctx, t, w, func(_ context.Context, c *socket.Conn) error {
			_, err := c.Write(make([]byte, 1<<20))
			return errors.Join(err, c.Close())
		})
		between(t, "1 MiB at 256 KiB/s", after(ctx, func() {
			if n, err := io.Copy(io.Discard, c); n != 1<<20 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		}), 3900*time.Millisecond, 5*time.Second)
	})
}

// TestClusterLoss has TCP repair what is lost, late.
func TestClusterLoss(t *testing.T) {
	network := quick
	network.PacketLoss = 0.2
	late := 0
	(&sim.Config{Network: network, Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", echoHost)
		c, err := dialRetry(ctx, "server:7")
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		for i := range 20 {
			if after(ctx, func() {
				if got, err := askLine(c, in, fmt.Sprint(i)); got != fmt.Sprint(i) || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			}) > 100*time.Millisecond {
				late++
			}
		}
	})
	if late == 0 {
		t.Error("nothing was ever sent again")
	}
}

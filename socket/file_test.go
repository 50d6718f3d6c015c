package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// filer is what package net's connections and listeners have.
type filer interface{ File() (*os.File, error) }

// fileOf returns the file of a connection or a listener of package net, which is
// closed at the end of the test.
func fileOf(t testing.TB, x any) *os.File {
	t.Helper()
	f, err := x.(filer).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// netPair returns the two ends of a connection of package net, and their listener.
func netPair(t testing.TB, network string) (a, b net.Conn, l net.Listener) {
	t.Helper()
	address := "127.0.0.1:0"
	if network != "tcp" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if a, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return a, b, l
}

// TestFileConn: the Conn suspends tasks and blocks goroutines alone, has the
// socket's addresses, and shares only the socket with the file.
func TestFileConn(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		std, peer, _ := netPair(t, network)
		f := fileOf(t, std)
		run(t, func(ctx context.Context) error {
			c, err := socket.FileConn(ctx, f)
			if err != nil {
				return err
			}
			if c.LocalAddr().String() != std.LocalAddr().String() || c.RemoteAddr().String() != std.RemoteAddr().String() ||
				c.LocalAddr().Network() != network {
				t.Errorf("%s: addresses %v, %v", network, c.LocalAddr(), c.RemoteAddr())
			}
			f.Close()
			p := make([]byte, 10)
			reader := rondo.Go(ctx, func(context.Context) error { // it suspends: else the loop stops here
				n, err := c.Read(p)
				p = p[:n]
				return err
			})
			waiting(ctx, "read", 1)
			io.WriteString(peer, "ping")
			if err := reader.Wait(ctx); err != nil || string(p) != "ping" {
				t.Errorf("%s: read %q, %v", network, p, err)
			}
			err = rondo.OffloadFunc(ctx, func(context.Context) error { _, err := c.Write([]byte("pong")); return err })
			if err != nil {
				return err
			}
			back := make([]byte, 4)
			if _, err := io.ReadFull(peer, back); err != nil || string(back) != "pong" {
				t.Errorf("%s: a goroutine wrote %q, %v", network, back, err)
			}
			return c.Close()
		})
		io.WriteString(std, "still open")
		back := make([]byte, 10)
		if _, err := io.ReadFull(peer, back); err != nil || string(back) != "still open" {
			t.Errorf("%s: after Close of the Conn the other descriptor sent %q, %v", network, back, err)
		}
	}
}

// TestFileListener: it accepts for tasks. When it is closed, connections wait for
// the others that have the socket, and the file of a Unix socket stays.
func TestFileListener(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		_, _, std := netPair(t, network)
		f := fileOf(t, std)
		run(t, func(ctx context.Context) error {
			for range 2 {
				l, err := socket.FileListener(ctx, f)
				if err != nil {
					return err
				}
				if l.Addr().String() != std.Addr().String() {
					t.Errorf("%s: Addr is %v", network, l.Addr())
				}
				accepted := rondo.Async(ctx, func(context.Context) (net.Conn, error) { return l.Accept() })
				waiting(ctx, "accept", 1)
				c, err := net.Dial(network, std.Addr().String())
				if err != nil {
					return err
				}
				a, err := accepted.Wait(ctx)
				if err != nil {
					return err
				}
				if _, ours := a.(*socket.Conn); !ours {
					t.Errorf("%s: Accept returned a %T", network, a)
				}
				a.Close()
				c.Close()
				if err := l.Close(); err != nil {
					return err
				}
			}
			return nil
		})
		c, err := net.Dial(network, std.Addr().String())
		if err != nil {
			t.Fatalf("%s: the listener was closed, the socket must not be: %v", network, err)
		}
		c.Close()
	}
}

// TestFileRefused: what FileConn and FileListener refuse, and how.
func TestFileRefused(t *testing.T) {
	a, _, l := netPair(t, "tcp")
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	plain, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	closed := fileOf(t, a)
	closed.Close()
	conn := func(ctx context.Context, f *os.File) error { _, err := socket.FileConn(ctx, f); return err }
	listener := func(ctx context.Context, f *os.File) error { _, err := socket.FileListener(ctx, f); return err }
	for _, c := range []struct {
		name string
		call func(ctx context.Context, f *os.File) error
		file *os.File
		want error
	}{
		{"FileConn of a listener", conn, fileOf(t, l), syscall.ENOTCONN},
		{"FileConn of a datagram socket", conn, fileOf(t, udp), errors.ErrUnsupported},
		{"FileConn of a plain file", conn, plain, syscall.ENOTSOCK},
		{"FileConn of a closed file", conn, closed, syscall.EBADF},
		{"FileListener of a connection", listener, fileOf(t, a), syscall.EINVAL},
		{"FileListener of a datagram socket", listener, fileOf(t, udp), syscall.EINVAL},
		{"FileListener of a plain file", listener, plain, syscall.ENOTSOCK},
	} {
		run(t, func(ctx context.Context) error {
			err := c.call(ctx, c.file)
			var named *net.OpError
			if !errors.Is(err, c.want) || !errors.As(err, &named) || named.Op != "file" {
				t.Errorf("%s: %v", c.name, err)
			}
			return nil
		})
		if err := c.call(t.Context(), c.file); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("%s, without a loop: %v", c.name, err)
		}
	}
	f := fileOf(t, a)
	sim.Test(t, func(ctx context.Context) {
		if err := conn(ctx, f); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("in a simulation: %v", err)
		}
	})
}

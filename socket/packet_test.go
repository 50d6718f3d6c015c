package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// everywhere runs fn in a task and on another goroutine.
func everywhere(ctx context.Context, fn func(where string) error) error {
	if err := fn("task"); err != nil {
		return err
	}
	return outside(ctx, func() error { return fn("foreign") })
}

// packets opens a datagram socket.
func packets(t testing.TB, ctx context.Context, network, address string) *socket.PacketConn {
	t.Helper()
	c, err := socket.ListenPacket(ctx, network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*socket.PacketConn)
}

// TestPacket: datagrams, also empty ones, go both ways and keep their bounds,
// on every network, in tasks and in goroutines.
func TestPacket(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ network, a, b string }{
		{"udp", "127.0.0.1:0", "127.0.0.1:0"},
		{"udp4", ":0", "127.0.0.1:0"},
		{"udp6", "[::1]:0", "[::1]:0"},
		{"unixgram", filepath.Join(dir, "a"), filepath.Join(dir, "b")},
	} {
		t.Run(c.network, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				a, err := socket.ListenPacket(ctx, c.network, c.a)
				if c.network == "udp6" && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)) {
					return nil // this machine has no IPv6
				}
				if err != nil {
					return err
				}
				defer a.Close()
				b := packets(t, ctx, c.network, c.b)
				return everywhere(ctx, func(where string) error {
					to := b.LocalAddr()
					for _, text := range []string{"one", "", "three"} {
						if _, err := a.WriteTo([]byte(text), to); err != nil {
							return fmt.Errorf("%s: %w", where, err)
						}
					}
					p := make([]byte, 100)
					for _, text := range []string{"one", "", "three"} {
						n, from, err := b.ReadFrom(p)
						if err != nil || string(p[:n]) != text {
							t.Errorf("%s: got %q, %v; want %q", where, p[:n], err, text)
						}
						if _, err := b.WriteTo([]byte("back"), from); err != nil {
							return fmt.Errorf("%s, the answer: %w", where, err)
						}
						if n, _, err := a.ReadFrom(p); string(p[:n]) != "back" {
							t.Errorf("%s: the answer is %q, %v", where, p[:n], err)
						}
					}
					return nil
				})
			})
		})
	}
}

// TestC190Datagrams: Dial returns a socket with a peer. It receives no
// datagrams of others, and sends to nobody else.
func TestC190Datagrams(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := packets(t, ctx, "udp", "127.0.0.1:0")
		stranger := packets(t, ctx, "udp", "127.0.0.1:0")
		return everywhere(ctx, func(where string) error {
			c, err := socket.Dial(ctx, "udp", l.LocalAddr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			if c.RemoteAddr().String() != l.LocalAddr().String() {
				t.Errorf("%s: connected to %v", where, c.RemoteAddr())
			}
			if _, err := stranger.WriteTo([]byte("stranger"), c.LocalAddr()); err != nil {
				return err
			}
			p := make([]byte, 100)
			for _, text := range []string{"hello", ""} {
				if n, err := io.WriteString(c, text); n != len(text) || err != nil {
					t.Errorf("%s: wrote %d, %v", where, n, err)
				}
				n, from, err := l.ReadFromUDPAddrPort(p)
				if err != nil || string(p[:n]) != text || from.String() != c.LocalAddr().String() {
					t.Errorf("%s: got %q from %v, %v", where, p[:n], from, err)
				}
				if _, err := l.WriteToUDPAddrPort(p[:n], from); err != nil {
					return err
				}
				if n, err := c.Read(p); n != len(text) || err != nil {
					t.Errorf("%s: the echo of %q has %d bytes, %v", where, text, n, err)
				}
			}
			_, err = c.(net.PacketConn).WriteTo(nil, stranger.LocalAddr())
			var op *net.OpError
			if !errors.Is(err, net.ErrWriteToConnected) || !errors.As(err, &op) || op.Op != "write" {
				t.Errorf("%s: sent to somebody else: %v", where, err)
			}
			return refusedByPeer(ctx, t, where)
		})
	})
}

// TestPacketEnds: a deadline, Close and a cancellation end a wait for a
// datagram, in tasks and in goroutines; a datagram that comes later is there
// for the next call.
func TestPacketEnds(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c := packets(t, ctx, "udp", "127.0.0.1:0")
		p := make([]byte, 10)
		err := everywhere(ctx, func(where string) error {
			if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
				return err
			}
			_, _, err := c.ReadFrom(p)
			timedOut(t, where, err)
			return c.SetReadDeadline(time.Time{})
		})
		if err != nil {
			return err
		}
		gone := errors.New("gone")
		reader := rondo.Go(ctx, func(ctx context.Context) error {
			_, _, err := c.ReadFrom(p)
			return err
		})
		waiting(ctx, "read", 1)
		reader.Cancel(gone)
		if err := reader.Wait(ctx); !errors.Is(err, gone) {
			t.Errorf("a cancelled ReadFrom returned %v", err)
		}
		if _, err := c.WriteTo([]byte("late"), c.LocalAddr()); err != nil {
			return err
		}
		if n, _, err := c.ReadFrom(p); string(p[:n]) != "late" {
			t.Errorf("after the cancellation: %q, %v", p[:n], err)
		}
		ended := make([]*rondo.Future[error], 2)
		for i := range ended {
			ended[i] = rondo.Async(ctx, func(ctx context.Context) (error, error) {
				read := func() error { _, _, err := c.ReadFrom(make([]byte, 1)); return err }
				if i == 0 {
					return read(), nil
				}
				return outside(ctx, read), nil
			})
		}
		waiting(ctx, "read", 1)
		if err := c.Close(); err != nil {
			return err
		}
		for i, f := range ended {
			if err, _ := f.Wait(ctx); !errors.Is(err, net.ErrClosed) {
				t.Errorf("reader %d: Close, and ReadFrom returned %v", i, err)
			}
		}
		if err := c.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the second Close returned %v", err)
		}
		if _, err := c.WriteTo(nil, c.LocalAddr()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("WriteTo after Close returned %v", err)
		}
		return nil
	})
}

// TestPacketFull: if a Unix socket has no room, the sender waits until it has,
// or until its deadline.
func TestPacketFull(t *testing.T) {
	run(t, func(ctx context.Context) error {
		dir := t.TempDir()
		full := packets(t, ctx, "unixgram", filepath.Join(dir, "full"))
		other := packets(t, ctx, "unixgram", filepath.Join(dir, "other"))
		sent := 0
		err := both(ctx, func(context.Context) error {
			for {
				if _, err := other.WriteTo([]byte("x"), full.LocalAddr()); err != nil {
					timedOut(t, "WriteTo", err)
					return nil
				}
				sent++
			}
		}, func(ctx context.Context) error {
			waiting(ctx, "write", 1) // no more fits
			return other.SetWriteDeadline(time.Unix(1, 0))
		})
		if err != nil {
			return err
		}
		// This sender is not connected, so the system does not report when
		// there is room.
		c := packets(t, ctx, "unixgram", filepath.Join(dir, "sender"))
		return both(ctx, func(ctx context.Context) error {
			_, err := c.WriteTo([]byte("last"), full.LocalAddr())
			return err
		}, func(ctx context.Context) error {
			waiting(ctx, "write", 1)
			for range 300 {
				// It has been told that it may try, and has, in vain.
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			p := make([]byte, 10)
			for range sent {
				if n, _, err := full.ReadFrom(p); n != 1 {
					return fmt.Errorf("got %d bytes, %w", n, err)
				}
			}
			if n, _, err := full.ReadFrom(p); string(p[:n]) != "last" {
				t.Errorf("got %q, %v", p[:n], err)
			}
			return nil
		})
	})
}

// TestPacketErrorNamesPeer: an error names the peer that is meant, and the call.
func TestPacketErrorNamesPeer(t *testing.T) {
	run(t, func(ctx context.Context) error {
		peer := packets(t, ctx, "udp", "127.0.0.1:0")
		dialled, err := socket.Dial(ctx, "udp", peer.LocalAddr().String())
		if err != nil {
			return err
		}
		open := packets(t, ctx, "udp", "127.0.0.1:0")
		unix := packets(t, ctx, "unixgram", filepath.Join(t.TempDir(), "s"))
		_, _, _, _, errUnix := unix.ReadMsgUDP(make([]byte, 1), nil)
		dialled.Close()
		open.Close()
		_, errDialled := dialled.Write([]byte("x"))
		_, errOpen := open.WriteTo([]byte("x"), peer.LocalAddr())
		for _, c := range []struct {
			err, cause error
			op         string
			addr       net.Addr
		}{
			{errDialled, net.ErrClosed, "write", peer.LocalAddr()},
			{errOpen, net.ErrClosed, "write", peer.LocalAddr()},
			{errUnix, syscall.EINVAL, "read", nil},
		} {
			e, ok := errors.AsType[*net.OpError](c.err)
			if !ok || !errors.Is(c.err, c.cause) || e.Op != c.op || fmt.Sprint(e.Addr) != fmt.Sprint(c.addr) {
				t.Errorf("%v, want %v of %v at %v", c.err, c.cause, c.op, c.addr)
			}
		}
		return nil
	})
}

// TestMessageIPv6: a message goes to an IPv6 address.
func TestMessageIPv6(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.ListenPacket(ctx, "udp6", "[::1]:0")
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
			return nil // this machine has no IPv6
		}
		if err != nil {
			return err
		}
		defer l.Close()
		c := l.(*socket.PacketConn)
		if _, _, err := c.WriteMsgUDP([]byte("six"), nil, c.LocalAddr().(*net.UDPAddr)); err != nil {
			return err
		}
		b := make([]byte, 10)
		n, _, _, from, err := c.ReadMsgUDP(b, nil)
		if string(b[:n]) != "six" || from.String() != c.LocalAddr().String() {
			t.Errorf("%q from %v: %v", b[:n], from, err)
		}
		return err
	})
}

// TestDialNamesItsEnd: the error of Dial has the address that the Dialer was told to call from.
func TestDialNamesItsEnd(t *testing.T) {
	run(t, func(ctx context.Context) error {
		_, dialled := pair(t, ctx)
		for _, local := range []net.Addr{nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}} {
			d := socket.Dialer{LocalAddr: local}
			_, err := d.DialContext(ctx, "tcp", dialled.LocalAddr().String()) // nobody can listen there
			e, ok := errors.AsType[*net.OpError](err)
			if !ok || (e.Source == nil) != (local == nil) {
				t.Errorf("from %v: %v", local, err)
			}
		}
		return nil
	})
}

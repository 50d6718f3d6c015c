package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

// TestPacketErrors: invalid calls fail with package net's errors.
func TestPacketErrors(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, bad := range [][2]string{{"tcp", "127.0.0.1:0"}, {"udp", "no port"}, {"udp", "127.0.0.1:99999"}, {"udp4", "[::1]:0"}, {"udp", "192.0.2.1:9"}, {"", ""}} {
			var op *net.OpError
			if _, err := socket.ListenPacket(ctx, bad[0], bad[1]); !errors.As(err, &op) || op.Op != "listen" {
				t.Errorf("ListenPacket(%q, %q): %v", bad[0], bad[1], err)
			}
		}
		c := packets(t, ctx, "udp4", "127.0.0.1:0")
		return everywhere(ctx, func(where string) error {
			for what, to := range map[string]net.Addr{
				"no address": nil, "another kind": &net.UnixAddr{Name: "x", Net: "unixgram"},
				"another family": &net.UDPAddr{IP: net.IPv6loopback, Port: 9},
			} {
				var op *net.OpError
				if _, err := c.WriteTo([]byte("x"), to); !errors.As(err, &op) || op.Op != "write" {
					t.Errorf("%s, %s: %v", where, what, err)
				}
			}
			if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.EDESTADDRREQ) {
				t.Errorf("%s: Write without a peer returned %v", where, err)
			}
			if _, err := c.WriteTo(make([]byte, 100_000), c.LocalAddr()); !errors.Is(err, syscall.EMSGSIZE) {
				t.Errorf("%s: a datagram that is too long: %v", where, err)
			}
			return nil
		})
	})
}

// TestPacketAddressErrors: an address that is missing, or of another type or network, fails
// with package net's error. So does a Dial without an address.
func TestPacketAddressErrors(t *testing.T) {
	run(t, func(ctx context.Context) error {
		if _, err := socket.Dial(ctx, "tcp", ""); err == nil || err.Error() != "dial tcp: missing address" {
			t.Errorf("Dial without an address: %v", err)
		}
		for _, network := range []string{"udp4", "unixgram"} {
			address := "127.0.0.1:0"
			if network == "unixgram" {
				address = ""
			}
			ours := packets(t, ctx, network, address)
			theirs, err := net.ListenPacket(network, address)
			if err != nil {
				return err
			}
			defer theirs.Close()
			for _, to := range []net.Addr{nil, (*net.UDPAddr)(nil), (*net.UnixAddr)(nil), &net.TCPAddr{Port: 9},
				&net.UnixAddr{Name: "x", Net: "unixpacket"}} {
				_, want := theirs.WriteTo([]byte("x"), to)
				_, got := ours.WriteTo([]byte("x"), to)
				if errors.Unwrap(got).Error() != errors.Unwrap(want).Error() {
					t.Errorf("%s to %T %v: %v, package net: %v", network, to, to, got, want)
				}
			}
		}
		return nil
	})
}

// refusedByPeer: an error that the peer's system reports is returned once, and
// the socket stays usable.
func refusedByPeer(ctx context.Context, t *testing.T, where string) error {
	dead, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := dead.LocalAddr().String()
	c, err := socket.Dial(ctx, "udp", addr)
	dead.Close() // not before the Dial, which might get this very port, and then be its own peer
	if err != nil {
		return err
	}
	defer c.Close()
	p := make([]byte, 10)
	if _, err := io.WriteString(c, "anybody?"); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	if _, err := c.Read(p); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%s: nobody is there, and Read returned %v", where, err)
	}
	back, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	defer back.Close()
	if _, err := back.WriteTo([]byte("here"), c.LocalAddr()); err != nil {
		return err
	}
	if n, err := c.Read(p); string(p[:n]) != "here" {
		t.Errorf("%s: after the error: %q, %v", where, p[:n], err)
	}
	return nil
}

// TestPacketTruncated: what does not fit is lost, and the next datagram is
// whole.
func TestPacketTruncated(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c := packets(t, ctx, "udp", "127.0.0.1:0")
		for _, text := range []string{"0123456789", "abc"} {
			if _, err := c.WriteTo([]byte(text), c.LocalAddr()); err != nil {
				return err
			}
		}
		p := make([]byte, 4)
		for _, want := range []string{"0123", "abc"} {
			if n, _, err := c.ReadFrom(p); string(p[:n]) != want || err != nil {
				t.Errorf("got %q, %v; want %q", p[:n], err, want)
			}
		}
		return nil
	})
}

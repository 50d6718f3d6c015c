//go:build !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestPacketAllocs: a datagram costs no allocation.
func TestPacketAllocs(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c := packets(t, ctx, "udp", "127.0.0.1:0")
		to := netip.MustParseAddrPort(c.LocalAddr().String())
		p := make([]byte, 100)
		var failed error
		n := testing.AllocsPerRun(1000, func() {
			_, err := c.WriteToUDPAddrPort(p[:10], to)
			n, from, err2 := c.ReadFromUDPAddrPort(p)
			if err != nil || err2 != nil || n != 10 || from != to {
				failed = errors.Join(fmt.Errorf("%d bytes from %v", n, from), err, err2)
			}
		})
		if n != 0 {
			t.Errorf("a datagram there and back costs %v allocations", n)
		}
		return failed
	})
}

// TestMessageConnected: a connected socket sends a message without an address,
// in tasks and in goroutines.
func TestMessageConnected(t *testing.T) {
	run(t, func(ctx context.Context) error {
		b := packets(t, ctx, "udp", "127.0.0.1:0")
		c, err := socket.Dial(ctx, "udp", b.LocalAddr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		a := c.(*socket.PacketConn)
		return everywhere(ctx, func(where string) error {
			if n, _, err := a.WriteMsgUDP([]byte(where), nil, nil); n != len(where) || err != nil {
				t.Errorf("%s: sent %d, %v", where, n, err)
				return nil
			}
			p := make([]byte, 20)
			n, _, _, from, err := b.ReadMsgUDP(p, nil)
			if string(p[:n]) != where || from.String() != a.LocalAddr().String() {
				t.Errorf("%s: got %q from %v", where, p[:n], from)
			}
			return err
		})
	})
}

// TestUnixgramConnectedFull: the system reports to a connected sender that
// there is room again, so no timer is set.
func TestUnixgramConnectedFull(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r := packets(t, ctx, "unixgram", filepath.Join(t.TempDir(), "r"))
		c, err := socket.Dial(ctx, "unixgram", r.LocalAddr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		const n = 10_000
		return both(ctx, func(context.Context) error {
			for range n {
				if _, err := c.Write([]byte("x")); err != nil {
					return err
				}
			}
			return nil
		}, func(ctx context.Context) error {
			waiting(ctx, "write", 1)
			if timers := rondo.LoopOf(ctx).Stats().Timers; timers > 0 {
				t.Errorf("%d timers are set", timers)
			}
			for range n {
				if _, err := r.Read(make([]byte, 1)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestUnixgramFull: the system reports nothing of use to a sender that is not connected, so it
// tries again when a timer says so.
func TestUnixgramFull(t *testing.T) {
	run(t, func(ctx context.Context) error {
		dir := t.TempDir()
		full := packets(t, ctx, "unixgram", filepath.Join(dir, "full"))
		c := packets(t, ctx, "unixgram", filepath.Join(dir, "sender"))
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error {
				for {
					if _, err := c.WriteTo([]byte("x"), full.LocalAddr()); err != nil {
						return nil
					}
				}
			})
			waiting(g, "write", 1)
			for rondo.LoopOf(g).Stats().Timers == 0 { // the task is about to try, and then waits again
				if err := rondo.Yield(g); err != nil {
					return err
				}
			}
			g.Cancel(nil)
			return nil
		})
	})
}

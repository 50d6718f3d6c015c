package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestClusterPackets sends datagrams: on a good network each arrives once and from the
// right sender, on a bad one some are lost, some come twice and some out of order.
func TestClusterPackets(t *testing.T) {
	const count = 200
	var lost, twice, late int
	for _, bad := range []bool{false, true} {
		config := sim.Config{Network: quick, Exact: true}
		if bad {
			config.Network.PacketLoss, config.Network.Duplicate, config.Network.Reorder = 0.1, 0.1, 0.1
		}
		config.Cluster(t, func(ctx context.Context, w *sim.World) {
			h := w.Host("receiver", func(ctx context.Context) error {
				c, err := socket.ListenPacket(ctx, "udp", ":53")
				if err != nil {
					return err
				}
				for p := make([]byte, 100); ; {
					n, from, err := c.ReadFrom(p)
					if err != nil {
						return err
					}
					if _, err := c.WriteTo(p[:n], from); err != nil {
						return err
					}
				}
			})
			c, err := socket.Dial(ctx, "udp", "receiver:53")
			if err != nil {
				t.Fatal(err)
			}
			_ = rondo.Sleep(ctx, time.Second)
			for i := range count {
				if _, err := c.Write([]byte{byte(i)}); err != nil {
					t.Error(err)
				}
				if !bad {
					_ = rondo.Sleep(ctx, 10*time.Millisecond)
				}
			}
			times, last := map[byte]int{}, -1
			for p := make([]byte, 100); ; {
				_ = c.SetReadDeadline(rondo.Now(ctx).Add(time.Second))
				n, err := c.Read(p)
				if errors.Is(err, os.ErrDeadlineExceeded) {
					break
				}
				if n != 1 || err != nil {
					t.Fatal(n, err)
				}
				if times[p[0]]++; int(p[0]) < last {
					late++
				}
				last = int(p[0])
			}
			for i := range count {
				switch times[byte(i)] {
				case 0:
					lost++
				case 1:
				default:
					twice++
				}
			}
			if !bad && lost+twice+late > 0 {
				t.Fatalf("on a good network %d were lost, %d came twice, %d late", lost, twice, late)
			}
			h.Crash()
			_ = c.SetReadDeadline(time.Time{})
			if _, err := c.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if !bad {
				_, err = c.Read(make([]byte, 1))
				is(t, "nobody there", err, syscall.ECONNREFUSED)
			}
		})
	}
	if lost == 0 || twice == 0 || late == 0 {
		t.Errorf("on a bad network %d were lost, %d came twice, %d late", lost, twice, late)
	}
}

// TestClusterPacketErrors holds what package net says too.
func TestClusterPacketErrors(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		c, err := socket.ListenPacket(ctx, "udp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		_, err = socket.ListenPacket(ctx, "udp", c.LocalAddr().String())
		is(t, "taken", err, syscall.EADDRINUSE)
		begins(t, err, "listen udp "+c.LocalAddr().String()+": bind: ")
		_, err = c.WriteTo(make([]byte, 70_000), c.LocalAddr())
		is(t, "too long", err, syscall.EMSGSIZE)
		if _, err := c.WriteTo([]byte("to myself"), c.LocalAddr()); err != nil {
			t.Error(err)
		}
		p := make([]byte, 2)
		if n, from, err := c.ReadFrom(p); n != 2 || string(p) != "to" || err != nil || from == nil {
			t.Errorf("%q from %v, %v", p[:n], from, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		_, _, err = c.ReadFrom(p)
		is(t, "closed", err, net.ErrClosed)
	})
}

// TestClusterPacketAddresses: a dialled socket has the address that the Dialer was told to call
// from, if it is free, and that of its peer.
func TestClusterPacketAddresses(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		l, here := packets(t, ctx, "udp", ":53"), sim.HostOf(ctx).Addr()
		d := &socket.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4zero, Port: 4000}}
		c, err := d.DialContext(ctx, "udp", fmt.Sprint(here, ":53"))
		if err != nil {
			t.Fatal(err)
		}
		if c.RemoteAddr().String() != fmt.Sprint(here, ":53") {
			t.Errorf("the peer is at %v", c.RemoteAddr())
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if _, from, err := l.ReadFrom(make([]byte, 1)); err != nil || from.String() != fmt.Sprint(here, ":4000") {
			t.Errorf("a datagram from %v, %v", from, err)
		}
		_, err = d.DialContext(ctx, "udp", fmt.Sprint(here, ":53"))
		is(t, "taken", err, syscall.EADDRINUSE)
		_ = c.Close()
		u := packets(t, ctx, "unixgram", "/run/u")
		d.LocalAddr = &net.UnixAddr{Name: "/run/mine", Net: "unixgram"}
		if c, err = d.DialContext(ctx, "unixgram", "/run/u"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if _, from, err := u.ReadFrom(make([]byte, 1)); err != nil || from.String() != "/run/mine" || c.RemoteAddr().String() != "/run/u" {
			t.Errorf("a datagram from %v, %v, to %v", from, err, c.RemoteAddr())
		}
	})
}

// TestClusterUnix connects within a host, by name. Another host has names of its own.
func TestClusterUnix(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		for _, network := range []string{"unix", "unixpacket"} {
			l, err := socket.Listen(ctx, network, "/run/x")
			if err != nil {
				t.Fatal(err)
			}
			_, err = socket.Listen(ctx, network, "/run/x")
			is(t, "taken", err, syscall.EADDRINUSE)
			begins(t, err, "listen "+network+" /run/x: bind: ")
			_, err = socket.Dial(ctx, network, "/run/y")
			is(t, "no such name", err, syscall.ENOENT)
			err = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error {
					c, err := l.Accept()
					if err != nil {
						return err
					}
					_, err = io.WriteString(c, "hello")
					return errors.Join(err, c.Close())
				})
				c, err := socket.Dial(g, network, "/run/x")
				if err != nil {
					return err
				}
				all, err := io.ReadAll(c)
				if string(all) != "hello" || c.RemoteAddr().String() != "/run/x" {
					t.Errorf("%q from %v", all, c.RemoteAddr())
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			_, err = socket.Dial(ctx, network, "/run/x")
			is(t, "closed", err, syscall.ENOENT)
		}
		other := w.Host("other", func(ctx context.Context) error {
			_, err := socket.Dial(ctx, "unix", "/run/x")
			is(t, "on another host", err, syscall.ENOENT)
			return nil
		})
		if err := w.Eventually(ctx, time.Hour, func() bool { return !other.Up() }); err != nil {
			t.Error(err)
		}
		a, err := socket.ListenPacket(ctx, "unixgram", "/run/a")
		if err != nil {
			t.Fatal(err)
		}
		b, err := socket.Dial(ctx, "unixgram", "/run/a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Write([]byte("datagram")); err != nil {
			t.Error(err)
		}
		p := make([]byte, 100)
		if n, _, err := a.ReadFrom(p); string(p[:n]) != "datagram" || err != nil {
			t.Errorf("%q, %v", p[:n], err)
		}
	})
}

// TestClusterUnixFull: a dial fails at once if no more connections may wait to be accepted. Whoever
// sends a datagram waits until its receiver has room, and can send to another one if the wait ends.
func TestClusterUnixFull(t *testing.T) {
	sim.Config{Exact: true}.Cluster(t, func(ctx context.Context, _ *sim.World) {
		if _, err := (&socket.ListenConfig{Backlog: 1}).Listen(ctx, "unix", "/run/x"); err != nil {
			t.Fatal(err)
		}
		for _, want := range []error{nil, syscall.EAGAIN} {
			_, err := socket.Dial(ctx, "unix", "/run/x")
			is(t, "dial", err, want)
		}
		c, full, other := packets(t, ctx, "unixgram", "/run/c"), packets(t, ctx, "unixgram", "/run/full"), packets(t, ctx, "unixgram", "/run/other")
		send := func(to net.PacketConn, n int) error {
			_, err := c.WriteTo(make([]byte, n), to.LocalAddr())
			return err
		}
		most := 100 << 10
		for i, want := range []error{nil, nil, os.ErrDeadlineExceeded} {
			between(t, "a send", after(ctx, func() {
				_ = c.SetWriteDeadline(rondo.Now(ctx).Add(time.Second))
				is(t, "to one that is full", send(full, most), want)
			}), time.Duration(i/2)*time.Second, time.Duration(i/2)*time.Second)
		}
		_ = c.SetWriteDeadline(rondo.Now(ctx).Add(time.Second))
		is(t, "to another one", send(other, most), nil)
		_ = c.SetWriteDeadline(time.Time{})
		reader := rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Minute)
			for range 3 {
				if n, _, err := full.ReadFrom(make([]byte, most)); n != most || err != nil {
					t.Error(n, err)
				}
			}
			return nil
		})
		between(t, "a send", after(ctx, func() { is(t, "until there is room", send(full, most), nil) }), time.Minute, time.Minute)
		_ = reader.Wait(ctx)
	})
}

// TestClusterMappedAddresses reaches a host at an IPv4 address that is written as one of
// IPv6, as net.ParseIP returns it.
func TestClusterMappedAddresses(t *testing.T) {
	sim.Config{Network: quick, Exact: true, Seeds: 1}.Cluster(t, func(ctx context.Context, w *sim.World) {
		h := w.Host("a", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":1")
			if err != nil {
				return err
			}
			c, err := socket.ListenPacket(ctx, "udp", ":1")
			if err != nil {
				return err
			}
			defer l.Close()
			for p := make([]byte, 1); ; {
				_, from, err := c.ReadFrom(p)
				if err != nil {
					return err
				}
				if _, err := c.WriteTo(p, from); err != nil {
					return err
				}
			}
		})
		_ = rondo.Sleep(ctx, time.Second)
		to, err := net.ResolveUDPAddr("udp", fmt.Sprint(h.Addr(), ":1"))
		if err != nil || len(to.IP) != net.IPv6len {
			t.Fatal(to, err)
		}
		for _, local := range []string{":2", sim.HostOf(ctx).Addr().String() + ":3"} {
			c, err := socket.ListenPacket(ctx, "udp", local)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.WriteTo([]byte{1}, to); err != nil {
				t.Error(err)
			}
			if _, _, err := c.ReadFrom(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			_ = c.Close()
		}
		c, err := socket.Dial(ctx, "tcp", fmt.Sprintf("[::ffff:%v]:1", h.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	})
}

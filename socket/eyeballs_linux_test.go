//go:build !rondo_portable

package socket_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// names is a name server that knows one name, with the given IPv4 addresses. It
// is a task of the loop that asks it; the look-up is not.
func names(t testing.TB, ctx context.Context, ips ...string) *net.Resolver {
	t.Helper()
	c := packets(t, ctx, "udp", "127.0.0.1:0")
	rondo.Go(ctx, func(ctx context.Context) error {
		p := make([]byte, 1500)
		for {
			n, from, err := c.ReadFromUDPAddrPort(p)
			if err != nil {
				return nil // the test is over
			}
			if _, err := c.WriteToUDPAddrPort(reply(p[:n], ips), from); err != nil {
				return nil
			}
		}
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}

// reply answers a question of the domain name system (RFC 1035, section 4).
func reply(question []byte, ips []string) []byte {
	const typeA = 1
	end := 12
	for question[end] != 0 {
		end += 1 + int(question[end])
	}
	end += 1 + 4 // the root, type and class
	if binary.BigEndian.Uint16(question[end-4:]) != typeA {
		ips = nil
	}
	m := append([]byte{}, question[:2]...)
	m = append(m, 0x81, 0x80, 0, 1, 0, byte(len(ips)), 0, 0, 0, 0)
	m = append(m, question[12:end]...)
	for _, ip := range ips {
		m = append(m, 0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4)
		m = append(m, net.ParseIP(ip).To4()...)
	}
	return m
}

// TestEyeballs: an address of a name that never answers costs the delay, and
// one that refuses costs nothing. The attempt that lost is closed. TestRace
// shows with a simulated clock that the delays are those of RFC 8305.
func TestEyeballs(t *testing.T) {
	hole := blackhole(t)
	_, port, _ := net.SplitHostPort(hole)
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.9", port))
		if err != nil {
			return err
		}
		s := &socket.Server{Handler: echo}
		rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		waiting(ctx, "accept", 1)
		before := leak.Descriptors()
		var tried []string
		d := socket.Dialer{
			Resolver: names(t, ctx, "127.0.0.1", "127.0.0.9"), FallbackDelay: time.Millisecond,
			Control: func(_, address string, _ syscall.RawConn) error {
				tried = append(tried, address)
				return nil
			},
		}
		c, err := d.DialContext(ctx, "tcp", net.JoinHostPort("race.test", port))
		if err != nil {
			return err
		}
		if got := c.RemoteAddr().String(); got != l.Addr().String() {
			t.Errorf("connected to %s", got)
		}
		if want := hole + " " + l.Addr().String(); strings.Join(tried, " ") != want {
			t.Errorf("tried %v", tried)
		}
		c.Close()
		for s.Conns() > 0 {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		// The name server's socket is one more.
		if n := leak.Descriptors(); n > before+1 {
			t.Errorf("%d descriptors before, %d after", before, n)
		}
		// The first address refuses, so the second one does not wait for an
		// hour.
		d.FallbackDelay = time.Hour
		d.Resolver = names(t, ctx, "127.0.0.8", "127.0.0.9")
		if c, err = d.DialContext(ctx, "tcp", net.JoinHostPort("race.test", port)); err != nil {
			return err
		}
		c.Close()
		// If all fail, the error is that of the first.
		d.Resolver = names(t, ctx, "127.0.0.7", "127.0.0.8")
		_, err = d.DialContext(ctx, "tcp", net.JoinHostPort("race.test", port))
		var op *net.OpError
		if !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &op) || op.Addr.String() != "127.0.0.7:"+port {
			t.Errorf("nobody is there, and Dial returned %v", err)
		}
		// A timeout ends all of them, and its error names the first.
		d.Resolver, d.FallbackDelay, d.Timeout = names(t, ctx, "127.0.0.1", "127.0.0.1"), time.Nanosecond, 5*time.Millisecond
		_, err = d.DialContext(ctx, "tcp", net.JoinHostPort("race.test", port))
		timedOut(t, "Dial", err)
		return errors.Join(s.Shutdown(ctx), rondo.Check(ctx))
	})
}

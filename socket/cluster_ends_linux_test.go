//go:build !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestEnds: what the ends of a connection get when one of them, or both, has ended a direction or
// all. In a simulation it is as on Linux, where a Unix socket shows it at once.
func TestEnds(t *testing.T) {
	for _, one := range []struct{ network, calls string }{
		// Both directions have ended: the system knows no connection.
		{"tcp", "a.end=ok a.end=ok b.end=ok a.end=ENOTCONN b.deafen=ENOTCONN"},
		// Data that nobody can want is answered with a reset.
		{"tcp", "a.end=ok a.deafen=ok b.write=ok a.read=ECONNRESET b.write=EPIPE b.read=EOF"},
		{"tcp", "a.deafen=ok b.write=ok a.read=ok a.read=EOF b.write=ok"},

		// A Close with unread data resets the peer, which learns it by a Read, also after the end.
		{"unix", "a.write=ok b.end=ok b.close=ok a.read=ECONNRESET a.read=EOF a.end=ok a.deafen=ok a.write=EPIPE"},
		{"unix", "a.write=ok b.write=ok b.close=ok a.write=EPIPE a.read=ok a.read=ECONNRESET a.read=EOF"},
		// Without unread data it does not, whatever comes then.
		{"unix", "a.abort=ok a.close=ok b.end=ok b.read=EOF b.write=EPIPE"},

		// The error comes before packets that have arrived, and also by a Write.
		{"unixpacket", "a.write=ok b.write=ok b.close=ok a.read=ECONNRESET a.read=ok a.read=EOF"},
		{"unixpacket", "a.write=ok b.end=ok b.close=ok a.write=ECONNRESET a.write=EPIPE a.read=EOF"},
		{"unixpacket", "a.abort=ok a.close=ok b.end=ok b.read=EOF b.write=EPIPE"},
	} {
		t.Run(one.network+" "+one.calls, func(t *testing.T) {
			if one.network != "tcp" {
				run(t, func(ctx context.Context) error {
					endBy(ctx, t, one.network, one.calls, func() {})
					return nil
				})
			}
			exact(t, func(ctx context.Context, _ *sim.World) {
				endBy(ctx, t, one.network, one.calls, func() { _ = rondo.Sleep(ctx, time.Second) })
			})
		})
	}
}

// TestUnixCloseRead: what was written to a Unix socket before it reads no more can be read, and
// nothing can be written then. In a simulation it is as on Linux.
func TestUnixCloseRead(t *testing.T) {
	body := func(ctx context.Context, network string) {
		a, b := openPair(t, ctx, network)
		defer a.Close()
		defer b.Close()
		_, err := io.WriteString(a, "before")
		is(t, "Write", err, nil)
		p := make([]byte, 10)
		n, err := b.Read(p[:1])
		is(t, "Read", err, nil)
		is(t, "CloseRead", b.CloseRead(), nil)
		_, err = io.WriteString(a, "after")
		is(t, "Write after CloseRead", err, syscall.EPIPE)
		if all, err := io.ReadAll(b); network == "unix" && string(p[:n])+string(all) != "before" || err != nil {
			t.Errorf("%q, %v", all, err)
		}
	}
	for _, network := range []string{"unix", "unixpacket"} {
		run(t, func(ctx context.Context) error { body(ctx, network); return nil })
		sim.Cluster(t, func(ctx context.Context, _ *sim.World) { body(ctx, network) })
	}
}

// endBy makes the calls on two connected sockets, and compares their results. pause lets what one
// of them has sent arrive.
func endBy(ctx context.Context, t *testing.T, network, calls string, pause func()) {
	t.Helper()
	a, b := openPair(t, ctx, network)
	defer a.Close()
	defer b.Close()
	var got []string
	for call := range strings.FieldsSeq(calls) {
		call, _, _ = strings.Cut(call, "=")
		c := map[byte]*socket.Conn{'a': a, 'b': b}[call[0]]
		var err error
		switch call[2:] {
		case "read":
			_, err = c.Read(make([]byte, 100))
		case "write":
			_, err = io.WriteString(c, "hello")
		case "end":
			err = c.CloseWrite()
		case "deafen":
			err = c.CloseRead()
		case "abort":
			err = c.SetLinger(0)
		case "close":
			err = c.Close()
		}
		got = append(got, call+"="+nameOf(err))
		pause()
	}
	if got := strings.Join(got, " "); got != calls {
		t.Errorf("%s:\n%s, want\n%s", network, got, calls)
	}
}

// nameOf returns the name of an error of a connection.
func nameOf(err error) string {
	for name, want := range map[string]error{
		"EOF": io.EOF, "ENOTCONN": syscall.ENOTCONN, "ECONNRESET": syscall.ECONNRESET, "EPIPE": syscall.EPIPE,
	} {
		if errors.Is(err, want) {
			return name
		}
	}
	if err == nil {
		return "ok"
	}
	return err.Error()
}

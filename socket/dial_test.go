package socket_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestDialErrors: a failed dial has package net's error.
func TestDialErrors(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c, err := net.Dial("tcp", listen(t, ctx).Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		addr := c.LocalAddr().String() // nobody listens there, and nobody else can
		for _, where := range []string{"task", "foreign"} {
			dial := func(network, address string) (err error) {
				use := func() error { _, err := socket.Dial(ctx, network, address); return err }
				if where == "task" {
					return use()
				}
				return outside(ctx, use)
			}
			var op *net.OpError
			err := dial("tcp", addr)
			if !isAny(err, refused) || !errors.As(err, &op) || op.Op != "dial" || op.Net != "tcp" || op.Addr.String() != addr {
				t.Errorf("nobody listens: %#v", err)
			}
			if err := dial("unix", t.TempDir()+"/none"); !errors.Is(err, syscall.ENOENT) || !errors.As(err, &op) {
				t.Errorf("no such socket: %v", err)
			}
			for _, bad := range [][2]string{
				{"tcp", "no port"}, {"tcp", "127.0.0.1:99999"}, {"tcp", "127.0.0.1:no-such-service"},
				{"tcp4", "[::1]:1"}, {"tcp6", "127.0.0.1:1"}, {"tcp", "host.invalid:1"}, {"sctp", addr}, {"", addr},
			} {
				err := dial(bad[0], bad[1])
				if !errors.As(err, &op) || op.Op != "dial" {
					t.Errorf("%s: Dial(%q, %q): %v", where, bad[0], bad[1], err)
				}
			}
			var unknown net.UnknownNetworkError
			if err := dial("sctp", addr); !errors.As(err, &unknown) {
				t.Errorf("sctp: %v", err)
			}
			var dns *net.DNSError
			for _, name := range []string{"host.invalid:1", "127.0.0.1:no-such-service"} {
				if err := dial("tcp", name); !errors.As(err, &dns) {
					t.Errorf("%s is unknown: %v", name, err)
				}
			}
		}
		return nil
	})
}

// TestDialInEndedScope: the error of a dial whose scope has ended names the address.
func TestDialInEndedScope(t *testing.T) {
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(nil)
			for network, address := range map[string]string{"tcp": "name.example:80", "unix": "/run/no-such.sock", "udp": "127.0.0.1:9"} {
				_, err := socket.Dial(g, network, address)
				if err == nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "dial "+network+" "+address+": ") {
					t.Errorf("Dial of %s returned %v", address, err)
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDialThisMachine: every way to write "this machine" reaches the listener that it
// reaches with package net, with each network, and with an address to dial from.
func TestDialThisMachine(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, at := range []string{"127.0.0.1", "[::1]"} {
			l, err := net.Listen("tcp", at+":0")
			if err != nil {
				t.Logf("no IPv6 here: %v", err)
				continue
			}
			defer l.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			for _, network := range []string{"tcp", "tcp4", "tcp6"} {
				for _, host := range []string{"", "localhost", "0.0.0.0", "[::]", "[::ffff:0.0.0.0]", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"} {
					for _, from := range []net.Addr{nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv6loopback}} {
						theirs, want := (&net.Dialer{LocalAddr: from}).Dial(network, host+":"+port)
						ours, got := (&socket.Dialer{LocalAddr: from}).DialContext(ctx, network, host+":"+port)
						if (got == nil) != (want == nil) || got == nil && ours.RemoteAddr().String() != theirs.RemoteAddr().String() {
							t.Errorf("%s %s:port from %v to %s: %v, and package net %v", network, host, from, at, got, want)
						}
						for _, c := range []net.Conn{ours, theirs} {
							if c != nil {
								c.Close()
							}
						}
					}
				}
			}
		}
		return nil
	})
}

// nameServer returns a Resolver of a server that knows one address of each name, of IPv4, and what
// it was asked for since asked was called last.
func nameServer(t testing.TB) (r *net.Resolver, asked func() []uint16) {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	questions := make(chan uint16, 100)
	var server sync.WaitGroup
	server.Go(func() {
		b := make([]byte, 512)
		for {
			n, from, err := l.ReadFrom(b)
			if err != nil {
				return
			}
			// The question is a name, a type and a class (RFC 1035, section 4.1).
			end := 12 + bytes.IndexByte(b[12:n], 0) + 5
			kind := binary.BigEndian.Uint16(b[end-4:])
			questions <- kind
			answer := append([]byte{b[0], b[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, b[12:end]...)
			if kind == typeA {
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
			}
			_, _ = l.WriteTo(answer, from)
		}
	})
	t.Cleanup(func() { l.Close(); server.Wait() })
	r = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", l.LocalAddr().String())
	}}
	return r, func() (kinds []uint16) {
		for len(questions) > 0 {
			kinds = append(kinds, <-questions)
		}
		return kinds
	}
}

// The types of addresses in the DNS.
const (
	typeA    = 1
	typeAAAA = 28
)

// TestDialFamily: with "tcp4" and "tcp6" only addresses of that family are looked up, as with
// package net: the other ones may not be answered. A name without any is an unknown host.
func TestDialFamily(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, asked := nameServer(t)
		_, port, err := net.SplitHostPort(listen(t, ctx).Addr().String())
		if err != nil {
			return err
		}
		d, address := &socket.Dialer{Resolver: r}, "name.test.:"+port
		c, err := d.DialContext(ctx, "tcp4", address)
		if err != nil {
			return err
		}
		c.Close()
		if kinds := asked(); slices.Contains(kinds, typeAAAA) {
			t.Errorf("tcp4: asked for %v", kinds)
		}
		_, err = d.DialContext(ctx, "tcp6", address)
		if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
			t.Errorf("tcp6: %v", err)
		}
		if kinds := asked(); slices.Contains(kinds, typeA) {
			t.Errorf("tcp6: asked for %v", kinds)
		}
		return nil
	})
}

// TestDialDefaultResolver: without a Resolver the one is asked that the program has made package
// net's default.
func TestDialDefaultResolver(t *testing.T) {
	r, asked := nameServer(t)
	was := net.DefaultResolver
	net.DefaultResolver = r
	defer func() { net.DefaultResolver = was }()
	run(t, func(ctx context.Context) error {
		_, port, err := net.SplitHostPort(listen(t, ctx).Addr().String())
		if err != nil {
			return err
		}
		c, err := socket.Dial(ctx, "tcp4", "name.test.:"+port)
		if err != nil {
			return err
		}
		if kinds := asked(); !slices.Contains(kinds, typeA) {
			t.Errorf("asked for %v", kinds)
		}
		return c.Close()
	})
}

// TestDialer: the fields of a Dialer mean what package net says.
func TestDialer(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		addr := l.Addr().String()
		var hooked []string
		hook := func(name string) func(network, address string, c syscall.RawConn) error {
			return func(network, address string, c syscall.RawConn) error {
				hooked = append(hooked, name, network, address)
				return c.Control(func(uintptr) {})
			}
		}
		d := socket.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, KeepAlive: 33 * time.Second, Control: hook("plain"), Timeout: time.Hour}
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(c.LocalAddr().String(), "127.0.0.2:") {
			t.Errorf("dialled from %v", c.LocalAddr())
		}
		checkOptions(t, "dialled", c.(*socket.Conn), 1, 33)
		c.Close()
		d.ControlContext = func(_ context.Context, network, address string, c syscall.RawConn) error {
			return hook("with ctx")(network, address, c)
		}
		if c, err = d.DialContext(ctx, "tcp", addr); err != nil {
			return err
		}
		c.Close()
		if want := []string{"plain", "tcp4", addr, "with ctx", "tcp4", addr}; !slices.Equal(hooked, want) {
			t.Errorf("hooks were called as %q", hooked)
		}

		refused := errors.New("refused")
		d = socket.Dialer{Control: func(string, string, syscall.RawConn) error { return refused }}
		if _, err := d.DialContext(ctx, "tcp", addr); !errors.Is(err, refused) {
			t.Errorf("Control failed, and Dial returned %v", err)
		}
		d = socket.Dialer{LocalAddr: &net.UnixAddr{Name: "x"}}
		if _, err := d.DialContext(ctx, "tcp", addr); err == nil {
			t.Error("dialled TCP from a Unix address")
		}
		free, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		port := free.Addr().(*net.TCPAddr).Port
		free.Close()
		d = socket.Dialer{LocalAddr: &net.TCPAddr{Port: port}}
		if c, err = d.DialContext(ctx, "tcp", addr); err != nil {
			return err
		}
		if got := c.LocalAddr().(*net.TCPAddr).Port; got != port {
			t.Errorf("dialled from port %d, not %d", got, port)
		}
		c.Close()
		d = socket.Dialer{LocalAddr: l.Addr()}
		if _, err := d.DialContext(ctx, "tcp", addr); !isAny(err, inUse) {
			t.Errorf("dialled from a port in use: %v", err)
		}
		d = socket.Dialer{Deadline: time.Unix(1, 0)}
		_, err = d.DialContext(ctx, "tcp", addr)
		timedOut(t, "Dial past its Deadline", err)
		return nil
	})
}

// TestDialHangs: a dial that gets no answer is ended by its Timeout, its ctx, or
// the scope around it.
func TestDialHangs(t *testing.T) {
	addr := blackhole(t)
	run(t, func(ctx context.Context) error {
		d := socket.Dialer{Timeout: time.Millisecond}
		_, err := d.DialContext(ctx, "tcp", addr)
		timedOut(t, "Dial", err)
		var op *net.OpError
		if !errors.As(err, &op) || op.Op != "dial" || op.Addr == nil || op.Addr.String() != addr {
			t.Errorf("Dial returned %#v", err)
		}
		err = rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
			_, err := socket.Dial(ctx, "tcp", addr)
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Dial in a Timeout returned %v", err)
		}
		gone := errors.New("gone")
		task := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := d.DialContext(ctx, "tcp", addr)
			return err
		})
		d.Timeout = time.Hour
		waiting(ctx, "connect", 1)
		task.Cancel(gone)
		if err := task.Wait(ctx); !errors.Is(err, gone) {
			t.Errorf("a cancelled Dial returned %v", err)
		}
		within, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if _, err := socket.Dial(within, "tcp", addr); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial with a context of the standard library returned %v", err)
		}
		return nil
	})
}

// TestDialFromAnyAddress: a LocalAddr without an address has that of the family of the peer.
func TestDialFromAnyAddress(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
			l, err := socket.Listen(ctx, "tcp", address)
			if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
				continue // this machine has no IPv6
			}
			if err != nil {
				return err
			}
			for _, ip := range []net.IP{nil, net.IPv4zero, net.IPv6zero} {
				c, err := (&socket.Dialer{LocalAddr: &net.TCPAddr{IP: ip}}).DialContext(ctx, "tcp", l.Addr().String())
				if err != nil {
					t.Errorf("from %v to %v: %v", ip, l.Addr(), err)
					continue
				}
				c.Close()
			}
			l.Close()
		}
		return nil
	})
}

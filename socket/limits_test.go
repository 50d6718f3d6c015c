package socket_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// forms are the forms of a server that echoes, each with its limits.
var forms = map[string]func(l socket.Limits, failed func(err error)) (serve func(ctx context.Context, l net.Listener) error, stats func() socket.Stats){
	"Handler": func(l socket.Limits, failed func(err error)) (func(ctx context.Context, l net.Listener) error, func() socket.Stats) {
		s := &socket.Server{Limits: l, Handler: echo, OnError: func(_ net.Conn, err error) { failed(err) }}
		return s.Serve, s.Stats
	},
	"Session": func(l socket.Limits, failed func(err error)) (func(ctx context.Context, l net.Listener) error, func() socket.Stats) {
		s := &socket.Server{Limits: l, OnError: func(_ net.Conn, err error) { failed(err) }, Session: func(c net.Conn) func(ctx context.Context) error {
			return func(context.Context) error {
				b := make([]byte, 100)
				n, err := c.Read(b)
				if err == nil {
					_, err = c.Write(b[:n])
				}
				return err
			}
		}}
		return s.Serve, s.Stats
	},
}

// swift is a network on which nothing takes time, so that the times of a test are exact.
var swift = sim.Config{Seeds: 3, SeedsShort: 3, Exact: true, Network: sim.Network{Latency: 1}}

// limited serves on one host with each form of a server that can be simulated, and calls
// client on another.
func limited(t *testing.T, l socket.Limits, client func(ctx context.Context, t *testing.T) error, check func(t *testing.T, s socket.Stats)) {
	for _, form := range []string{"Handler", "Session"} {
		begin := forms[form]
		t.Run(form, func(t *testing.T) {
			swift.Cluster(t, func(ctx context.Context, w *sim.World) {
				serve, stats := begin(l, func(err error) { t.Errorf("the server failed: %v", err) })
				w.Host("server", listening(":7", serve))
				_ = rondo.Sleep(ctx, time.Second)
				w.Host("client", func(ctx context.Context) error { return client(ctx, t) })
				_ = rondo.Sleep(ctx, time.Hour)
				check(t, stats())
			})
		})
	}
}

// TestLimitsOfTime: a client that sends nothing, or stops, is disconnected, with a Handler and
// with a Session; one that goes on is not.
func TestLimitsOfTime(t *testing.T) {
	const first, idle = 5 * time.Second, 20 * time.Second
	limited(t, socket.Limits{FirstByte: first, Idle: idle}, func(ctx context.Context, t *testing.T) error {
		for _, c := range []struct {
			name        string
			bytes       int           // one each 15 s
			least, most time.Duration // until the server closes the connection
		}{
			{"silent", 0, first, first},
			{"stops", 1, idle, idle + idle/4},
			{"goes on", 10, 9*15*time.Second + idle, 9*15*time.Second + idle + idle/4},
		} {
			conn, err := socket.Dial(ctx, "tcp", "server:7")
			if err != nil {
				return err
			}
			start := rondo.Now(ctx)
			for i := range c.bytes {
				if i > 0 {
					_ = rondo.Sleep(ctx, 15*time.Second)
				}
				if err := roundTripByte(conn); err != nil {
					t.Errorf("%s: byte %d: %v", c.name, i, err)
				}
			}
			_, err = conn.Read(make([]byte, 1))
			took := rondo.Now(ctx).Sub(start).Round(time.Second)
			if err == nil || took < c.least || took > c.most {
				t.Errorf("%s: %v after %v, want an end between %v and %v", c.name, err, took, c.least, c.most)
			}
			_ = conn.Close()
		}
		return nil
	}, func(t *testing.T, s socket.Stats) {
		if want := (socket.Stats{Accepted: 3, Silent: 1, Idle: 2}); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	})
}

// TestIdleInBothDirections: a connection on which bytes go in one direction is not idle.
func TestIdleInBothDirections(t *testing.T) {
	const idle, every, bytes = 20 * time.Second, 15 * time.Second, 10
	send := func(ctx context.Context, c net.Conn) error {
		for range bytes {
			if _, err := c.Write([]byte("x")); err != nil {
				return err
			}
			if err := rondo.Sleep(ctx, every); err != nil {
				return err
			}
		}
		return rondo.Sleep(ctx, time.Hour)
	}
	receive := func(_ context.Context, c net.Conn) error { _, err := io.Copy(io.Discard, c); return err }
	for name, row := range map[string]struct {
		server, client func(ctx context.Context, c net.Conn) error
	}{
		"the client sends": {receive, send}, "the server sends": {send, receive},
	} {
		swift.Cluster(t, func(ctx context.Context, w *sim.World) {
			var open time.Duration
			s := &socket.Server{Limits: socket.Limits{Idle: idle}, Handler: func(ctx context.Context, c net.Conn) error {
				start := rondo.Now(ctx)
				defer func() { open = rondo.Now(ctx).Sub(start) }()
				return row.server(ctx, c)
			}}
			w.Host("server", listening(":7", s.Serve))
			_ = rondo.Sleep(ctx, time.Second)
			c, err := socket.Dial(ctx, "tcp", "server:7")
			if err != nil {
				t.Fatal(err)
			}
			_ = row.client(ctx, c)
			_ = c.Close()
			between(t, "a connection on which "+name, open.Round(time.Second), (bytes-1)*every+idle, (bytes-1)*every+idle+idle/4)
		})
	}
}

// TestLimitPassesInEnd: a limit passes while a call of a Session, which has returned nil, waits for
// a task that it has started. The connection is closed when that has ended.
func TestLimitPassesInEnd(t *testing.T) {
	const idle, slow = time.Second, 2 * time.Second
	swift.Cluster(t, func(ctx context.Context, w *sim.World) {
		s := &socket.Server{Limits: socket.Limits{Idle: idle}, Session: func(c net.Conn) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				rondo.Go(ctx, func(ctx context.Context) error {
					return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, slow) })
				})
				_, err := c.Read(make([]byte, 1))
				return err
			}
		}}
		w.Host("server", listening(":7", s.Serve))
		_ = rondo.Sleep(ctx, time.Second)
		c, err := socket.Dial(ctx, "tcp", "server:7")
		if err != nil {
			t.Fatal(err)
		}
		start := rondo.Now(ctx)
		_, wrote := c.Write([]byte("x"))
		_ = c.SetReadDeadline(start.Add(time.Hour))
		_, err = c.Read(make([]byte, 1))
		if took := rondo.Now(ctx).Sub(start).Round(time.Second); took != slow || wrote != nil || err != io.EOF {
			t.Errorf("closed after %v, want %v: %v, %v", took, slow, wrote, err)
		}
		_ = c.Close()
		if got, want := s.Stats(), (socket.Stats{Accepted: 1, Idle: 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// TestLargestLimits: limits that are as long as a time can be end nothing.
func TestLargestLimits(t *testing.T) {
	for _, l := range []socket.Limits{{FirstByte: math.MaxInt64}, {Idle: math.MaxInt64}} {
		limited(t, l, func(ctx context.Context, t *testing.T) error {
			c, err := socket.Dial(ctx, "tcp", "server:7")
			if err != nil {
				return err
			}
			_ = rondo.Sleep(ctx, time.Minute)
			if err := roundTripByte(c); err != nil {
				t.Errorf("%+v: %v", l, err)
			}
			return c.Close()
		}, func(t *testing.T, s socket.Stats) {
			if want := (socket.Stats{Accepted: 1}); s != want {
				t.Errorf("%+v, want %+v", s, want)
			}
		})
	}
}

func roundTripByte(c net.Conn) error {
	b := []byte{'x'}
	if _, err := c.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(c, b)
	return err
}

// open opens n connections, and returns those that the server serves.
func open(ctx context.Context, n int) (served []net.Conn, err error) {
	for range n {
		c, err := socket.Dial(ctx, "tcp", "server:7")
		if err != nil {
			return nil, err
		}
		if roundTripByte(c) == nil {
			served = append(served, c)
		} else {
			_ = c.Close()
		}
	}
	return served, nil
}

// TestLimitOfConns: an address has no more connections than ConnsPerAddr; one that is closed
// makes room.
func TestLimitOfConns(t *testing.T) {
	limited(t, socket.Limits{ConnsPerAddr: 3}, func(ctx context.Context, t *testing.T) error {
		served, err := open(ctx, 5)
		if err != nil {
			return err
		}
		if len(served) != 3 {
			t.Errorf("%d of 5 are served", len(served))
		}
		for _, c := range served[1:] {
			_ = c.Close()
		}
		_ = rondo.Sleep(ctx, time.Second)
		again, err := open(ctx, 4)
		if len(again) != 2 {
			t.Errorf("after 2 were closed %d are served", len(again))
		}
		for _, c := range append(again, served[0]) {
			_ = c.Close()
		}
		return err
	}, func(t *testing.T, s socket.Stats) {
		if want := (socket.Stats{Accepted: 9, RefusedByAddr: 4}); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	})
}

// TestLimitOfRate: an address opens RatePerAddr connections a second, in bursts of as many.
func TestLimitOfRate(t *testing.T) {
	limited(t, socket.Limits{RatePerAddr: 4}, func(ctx context.Context, t *testing.T) error {
		for i, c := range []struct {
			pause      time.Duration
			n, allowed int
		}{{0, 6, 4}, {500 * time.Millisecond, 6, 2}, {time.Hour / 10, 6, 4}, {time.Second / 4, 1, 1}, {0, 1, 0}} {
			_ = rondo.Sleep(ctx, c.pause)
			served, err := open(ctx, c.n)
			if err != nil {
				return err
			}
			if len(served) != c.allowed {
				t.Errorf("burst %d: %d of %d are served, want %d", i, len(served), c.n, c.allowed)
			}
			for _, c := range served {
				_ = c.Close()
			}
		}
		return nil
	}, func(t *testing.T, s socket.Stats) {
		if want := (socket.Stats{Accepted: 20, RefusedByRate: 9}); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	})
}

// TestLimitOfHandshake: a client that says nothing, or half of a ClientHello, has 10 s for
// the TLS handshake, with a Handler and with a Session, also if the handler would not read.
func TestLimitOfHandshake(t *testing.T) {
	config, client := certificate(t)
	config.SessionTicketsDisabled = true // their keys are drawn once, and kept from run to run
	for _, form := range []string{"Handler", "Session"} {
		for _, limit := range []time.Duration{0, 3 * time.Second, -1} {
			swift.Cluster(t, func(ctx context.Context, w *sim.World) {
				cryptotest.SetGlobalRandom(t, 1)
				reports := 0
				begin := forms[form]
				serve, stats := begin(socket.Limits{Handshake: limit}, func(err error) {
					if reports++; limit >= 0 && (!errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "handshake")) {
						t.Errorf("%s, limit %v: OnError got %v", form, limit, err)
					}
				})
				w.Host("server", listening(":7", func(ctx context.Context, l net.Listener) error {
					return serve(ctx, socket.NewTLSListener(ctx, l, config))
				}))
				_ = rondo.Sleep(ctx, time.Second)
				ended := 0
				w.Host("client", func(ctx context.Context) error {
					good, err := socket.Dial(ctx, "tcp", "server:7")
					if err != nil {
						return err
					}
					secure := socket.TLSClient(ctx, good, client)
					if err := roundTripByte(secure); err != nil {
						t.Errorf("a client that speaks TLS: %v", err)
					}
					for _, hello := range []string{"", "\x16\x03\x01\x00\xc8\x01\x00\x00"} {
						c, err := socket.Dial(ctx, "tcp", "server:7")
						if err != nil {
							return err
						}
						start := rondo.Now(ctx)
						_, _ = io.WriteString(c, hello)
						_ = c.SetReadDeadline(start.Add(time.Minute))
						_, err = io.Copy(io.Discard, c)
						took := rondo.Now(ctx).Sub(start).Round(time.Second)
						want := limit
						switch limit {
						case 0:
							want = 10 * time.Second
						case -1:
							want = time.Minute
						}
						if took != want {
							t.Errorf("%s, limit %v, %q: closed after %v: %v", form, limit, hello, took, err)
						}
						ended++
						_ = c.Close()
					}
					if err := roundTripByte(secure); err != nil {
						t.Errorf("a client that speaks TLS, later: %v", err)
					}
					return secure.Close()
				})
				_ = rondo.Sleep(ctx, time.Hour)
				if s := stats(); ended != 2 || limit >= 0 && (reports != 2 || s.Handshakes != 2 || s.Errors != 2) || s.Open != 0 {
					t.Errorf("%s, limit %v: %d have ended, %d reports, %+v", form, limit, ended, reports, s)
				}
			})
		}
	}
}

// TestLimitsTogether: a client that says nothing has the time for a first byte, and one that says
// half of a ClientHello that for the handshake.
func TestLimitsTogether(t *testing.T) {
	config, _ := certificate(t)
	config.SessionTicketsDisabled = true
	swift.Cluster(t, func(ctx context.Context, w *sim.World) {
		cryptotest.SetGlobalRandom(t, 1)
		serve, _ := forms["Handler"](socket.Limits{FirstByte: time.Second, Handshake: 3 * time.Second}, func(error) {})
		w.Host("server", listening(":7", func(ctx context.Context, l net.Listener) error {
			return serve(ctx, socket.NewTLSListener(ctx, l, config))
		}))
		_ = rondo.Sleep(ctx, time.Second)
		for _, row := range []struct {
			hello string
			want  time.Duration
		}{{"", time.Second}, {"\x16\x03\x01\x00\xc8\x01\x00\x00", 3 * time.Second}} {
			c, err := socket.Dial(ctx, "tcp", "server:7")
			if err != nil {
				t.Fatal(err)
			}
			start := rondo.Now(ctx)
			_, _ = io.WriteString(c, row.hello)
			_ = c.SetReadDeadline(start.Add(time.Minute))
			_, err = io.Copy(io.Discard, c)
			if took := rondo.Now(ctx).Sub(start).Round(time.Second); took != row.want {
				t.Errorf("%q: closed after %v, want %v: %v", row.hello, took, row.want, err)
			}
			_ = c.Close()
		}
	})
}

// TestLimitsOfProtocol: a Protocol, which cannot be simulated, has the limits too. Only one of
// them can end each connection, however slow the machine is.
func TestLimitsOfProtocol(t *testing.T) {
	for _, row := range []struct {
		limits socket.Limits
		texts  []string // one for each connection; they are open at once
		want   socket.Stats
		lost   error
	}{
		{socket.Limits{FirstByte: 10 * time.Millisecond}, []string{""}, socket.Stats{Accepted: 1, Silent: 1}, os.ErrDeadlineExceeded},
		{socket.Limits{FirstByte: time.Hour, Idle: 10 * time.Millisecond}, []string{"x"}, socket.Stats{Accepted: 1, Idle: 1}, os.ErrDeadlineExceeded},
		{socket.Limits{ConnsPerAddr: 1}, []string{"x", ""}, socket.Stats{Accepted: 2, RefusedByAddr: 1}, nil},
	} {
		run(t, func(ctx context.Context) error {
			var lost []error
			p := &socket.Protocol{Limits: row.limits, Lost: func(_ *socket.Transport, err error) { lost = append(lost, err) }}
			return protocol(t, ctx, p, func(ctx context.Context, addr string) error {
				var conns []net.Conn
				for _, text := range row.texts {
					c, err := socket.Dial(ctx, "tcp", addr)
					if err != nil {
						return err
					}
					conns = append(conns, c)
					if _, err := io.WriteString(c, text); err != nil {
						return err
					}
				}
				// The server closes the last one.
				if n, err := io.Copy(io.Discard, conns[len(conns)-1]); n > 0 {
					t.Errorf("read %d bytes, %v", n, err)
				}
				for _, c := range conns {
					_ = c.Close()
				}
				for len(lost) == 0 {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				if s := p.Stats(); s != row.want || len(lost) != 1 || !errors.Is(lost[0], row.lost) {
					t.Errorf("%+v, Lost with %v; want %+v and %v", s, lost, row.want, row.lost)
				}
				return nil
			})
		})
	}
}

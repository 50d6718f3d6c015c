package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// A peerCase is a handler, what its client does, and how the handler ends.
type peerCase struct {
	handler func(ctx context.Context, c net.Conn) error
	client  func(ctx context.Context, c *socket.Conn) error
	half    bool   // Server.HalfClose
	answer  string // what the client reads
	ends    error  // of the handler
	after   time.Duration
}

// request reads the three bytes "req".
func request(c net.Conn) error {
	_, err := io.ReadFull(c, make([]byte, 3))
	return err
}

func sends(text string, then func(c *socket.Conn) error) func(ctx context.Context, c *socket.Conn) error {
	return func(ctx context.Context, c *socket.Conn) error {
		if _, err := io.WriteString(c, text); err != nil {
			return err
		}
		if err := rondo.Sleep(ctx, time.Second); err != nil {
			return err
		}
		return then(c)
	}
}

func leaves(c *socket.Conn) error { return c.Close() }
func resets(c *socket.Conn) error { return errors.Join(c.SetLinger(0), c.Close()) }
func ends(c *socket.Conn) error   { return c.CloseWrite() }
func stays(*socket.Conn) error    { return nil }

// TestPeerLeaves: a handler, and a call of a Session, that waits for something else than
// its connection is cancelled when the peer has left, and only then. All times are those of
// the simulation; the handler would wait for an hour.
func TestPeerLeaves(t *testing.T) {
	hour := func(ctx context.Context, c net.Conn) error {
		return errors.Join(request(c), rondo.Sleep(ctx, time.Hour))
	}
	answer := func(ctx context.Context, c net.Conn) error {
		if err := hour(ctx, c); err != nil {
			return err
		}
		_, err := io.WriteString(c, "done")
		return err
	}
	for name, c := range map[string]peerCase{
		"leaves":                {hour, sends("req", leaves), false, "", socket.ErrPeerClosed, time.Second},
		"resets":                {hour, sends("req", resets), false, "", socket.ErrPeerClosed, time.Second},
		"ends its side":         {answer, sends("req", ends), false, "", socket.ErrPeerClosed, time.Second},
		"may end its side":      {answer, sends("req", ends), true, "done", nil, time.Hour},
		"stays":                 {answer, sends("req", stays), false, "done", nil, time.Hour},
		"leaves before":         {hour, func(_ context.Context, c *socket.Conn) error { io.WriteString(c, "req"); return c.Close() }, false, "", socket.ErrPeerClosed, 0},
		"ends, and is answered": {func(ctx context.Context, c net.Conn) error { _, err := io.Copy(c, c); return err }, sends("req", ends), false, "req", nil, time.Second},
		"leaves data": {hour, func(ctx context.Context, c *socket.Conn) error {
			io.WriteString(c, "req and more")
			return c.CloseWrite()
		}, false, "", nil, time.Hour},
		"is read to its end": {func(ctx context.Context, c net.Conn) error {
			if _, err := io.ReadAll(c); err != nil {
				return err
			}
			if err := rondo.Sleep(ctx, time.Hour); err != nil {
				return err
			}
			_, err := io.WriteString(c, "done")
			return err
		}, sends("req", ends), false, "done", nil, time.Second + time.Hour},
		"a task reads": {func(ctx context.Context, c net.Conn) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error { _, err := io.ReadAll(c); return err })
				return rondo.Sleep(g, time.Hour)
			})
		}, sends("req", leaves), false, "", nil, time.Hour},
		"tasks are at work": {func(ctx context.Context, c net.Conn) error {
			if err := request(c); err != nil {
				return err
			}
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
				return nil
			})
		}, sends("req", leaves), false, "", nil, time.Hour},
		"in a Timeout": {func(ctx context.Context, c net.Conn) error {
			return rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error { return hour(ctx, c) })
		}, sends("req", leaves), false, "", socket.ErrPeerClosed, time.Second},
		"while it runs": {func(ctx context.Context, c net.Conn) error {
			if err := request(c); err != nil {
				return err
			}
			for range 5 {
				if err := rondo.Sleep(ctx, 100*time.Millisecond); err != nil {
					return err
				}
			}
			return rondo.Sleep(ctx, time.Hour)
		}, sends("req", leaves), false, "", socket.ErrPeerClosed, time.Second},
	} {
		for _, form := range []string{"Handler", "Session"} {
			t.Run(name+"/"+form, func(t *testing.T) { c.try(t, form) })
		}
	}
}

// try runs the case with one form of a Server, on two hosts.
func (c *peerCase) try(t *testing.T, form string) {
	sim.Config{Seeds: 3, SeedsShort: 3, Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		var got error
		var took time.Duration
		ended := false
		s := &socket.Server{HalfClose: c.half, OnError: func(_ net.Conn, err error) { t.Errorf("OnError got %v", err) }}
		handler := func(ctx context.Context, conn net.Conn) error {
			start := rondo.Now(ctx)
			got = c.handler(ctx, conn)
			took, ended = rondo.Now(ctx).Sub(start), true
			return got
		}
		if s.Handler = handler; form == "Session" {
			s.Handler = nil
			s.Session = func(conn net.Conn) func(ctx context.Context) error {
				return func(ctx context.Context) error {
					if err := handler(ctx, conn); err != nil {
						return err
					}
					return io.EOF
				}
			}
		}
		w.Host("server", listening(":7", s.Serve))
		_ = rondo.Sleep(ctx, time.Second)
		answer := ""
		w.Host("client", func(ctx context.Context) error {
			conn, err := socket.Dial(ctx, "tcp", "server:7")
			if err != nil {
				return err
			}
			if err := c.client(ctx, conn.(*socket.Conn)); err != nil {
				return err
			}
			b, _ := io.ReadAll(conn)
			answer = string(b)
			_ = conn.Close() // some have closed it before
			return nil
		})
		_ = rondo.Sleep(ctx, 3*time.Hour)
		if !ended || !errors.Is(got, c.ends) || (got == nil) != (c.ends == nil) || answer != c.answer {
			t.Errorf("the handler has ended: %t, with %v; want %v; the client read %q, want %q", ended, got, c.ends, answer, c.answer)
		}
		if took.Round(time.Second) != c.after {
			t.Errorf("the handler took %v, want %v", took, c.after)
		}
		if stats := s.Stats(); stats.Open != 0 || stats.Accepted != 1 || stats.Errors != 0 || (stats.PeerClosed == 1) != (c.ends == socket.ErrPeerClosed) {
			t.Errorf("%+v", stats)
		}
	})
}

// TestPeerLeavesRecords: of a client of TLS that leaves while a handler waits the alert with which
// TLS ends, and a part of a record, are not taken for data.
func TestPeerLeavesRecords(t *testing.T) {
	config, user := certificate(t)
	config.SessionTicketsDisabled = true // their keys are drawn once, and kept from run to run
	for name, row := range map[string]struct {
		asks   bool // the handler reads a request first
		leaves func(c *socket.TLSConn) error
		want   error
	}{
		"with an alert":           {true, (*socket.TLSConn).Close, socket.ErrPeerClosed},
		"in the middle":           {true, func(c *socket.TLSConn) error { return cutOff(c, "\x17\x03\x03") }, socket.ErrPeerClosed},
		"with data":               {true, func(c *socket.TLSConn) error { return errors.Join(wrote(c, "more"), c.Close()) }, nil},
		"in place of a handshake": {false, func(c *socket.TLSConn) error { return cutOff(c, "\x16\x03\x01") }, nil},
	} {
		swift.Cluster(t, func(ctx context.Context, w *sim.World) {
			cryptotest.SetGlobalRandom(t, 1)
			ended, got := false, error(nil)
			s := &socket.Server{Limits: socket.Limits{Handshake: -1}, Handler: func(ctx context.Context, c net.Conn) error {
				if row.asks {
					if err := request(c); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				got = rondo.Sleep(ctx, time.Hour)
				ended = true
				return nil
			}}
			w.Host("server", listening(":7", func(ctx context.Context, l net.Listener) error {
				return s.Serve(ctx, socket.NewTLSListener(ctx, l, config))
			}))
			_ = rondo.Sleep(ctx, time.Second)
			raw, err := socket.Dial(ctx, "tcp", "server:7")
			if err != nil {
				t.Fatal(err)
			}
			c := socket.TLSClient(ctx, raw, user)
			if row.asks {
				if _, err := io.WriteString(c, "req"); err != nil {
					t.Error(err)
				}
			}
			_ = rondo.Sleep(ctx, time.Second) // the handler waits
			if err := row.leaves(c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			_ = rondo.Sleep(ctx, 2*time.Hour)
			if !ended || got != row.want {
				t.Errorf("a client leaves %s: the handler has ended: %t, with %v; want %v", name, ended, got, row.want)
			}
		})
	}
}

func wrote(c net.Conn, text string) error { _, err := io.WriteString(c, text); return err }

// cutOff writes text below TLS and closes the connection.
func cutOff(c *socket.TLSConn, text string) error {
	_, err := io.WriteString(c.NetConn(), text)
	return errors.Join(err, c.NetConn().Close())
}

// TestEndOfStream: a Handler that returns io.EOF, as one does whose peer has left, has not
// failed; another error that says more has.
func TestEndOfStream(t *testing.T) {
	for _, test := range []struct {
		returns error
		reports int
	}{{io.EOF, 0}, {nil, 0}, {io.ErrUnexpectedEOF, 1}, {errors.Join(io.EOF, io.ErrClosedPipe), 1}} {
		run(t, func(ctx context.Context) error {
			reports := 0
			s := &socket.Server{
				Handler: func(context.Context, net.Conn) error { return test.returns },
				OnError: func(net.Conn, error) { reports++ },
			}
			addr, _ := start(t, ctx, s)
			c, err := socket.Dial(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, c)
			if reports != test.reports || s.Stats().Errors != int64(test.reports) {
				t.Errorf("%v: %d reports, %+v", test.returns, reports, s.Stats())
			}
			return errors.Join(err, c.Close(), s.Shutdown(ctx))
		})
	}
}

package socket_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// tlsPair gives both ends, before the handshake.
func tlsPair(t testing.TB, ctx context.Context) (a, b *socket.TLSConn) {
	t.Helper()
	server, client := certificate(t)
	x, y := pair(t, ctx)
	return socket.TLSServer(ctx, x, server), socket.TLSClient(ctx, y, client)
}

// crowd has tasks, and goroutines if told to, come all at once to both ends of a
// connection: some for the handshake, some to write lines, some to read bytes. All
// that was written arrives, no line in another.
func crowd(t testing.TB, ctx context.Context, a, b secret, goroutines bool) error {
	const each, size = 3, 40_000
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for _, ends := range [][2]secret{{a, b}, {b, a}} {
			end, other := ends[0], ends[1]
			start := func(i int, fn func() error) {
				g.Go(func(ctx context.Context) error {
					if goroutines && i == 0 {
						return outside(ctx, fn)
					}
					return fn()
				})
			}
			for i := range each {
				line := bytes.Repeat([]byte{byte('a' + i)}, size)
				start(i, end.Handshake)
				start(i, func() error { _, err := end.Write(line); return err })
			}
			g.Go(func(ctx context.Context) error {
				all := make([]byte, each*size)
				at := 0
				err := rondo.Group(ctx, func(readers *rondo.Scope) error {
					for range 2 {
						readers.Go(func(context.Context) error {
							p := make([]byte, 1000)
							for at < len(all) {
								n, err := other.Read(p)
								copy(all[at:], p[:n])
								if at += n; err != nil {
									return err
								}
								if at == len(all) {
									readers.Cancel(nil)
								}
							}
							return nil
						})
					}
					return nil
				})
				for ; len(all) > 0; all = all[size:] {
					if !bytes.Equal(all[:size], bytes.Repeat(all[:1], size)) {
						t.Error("lines are mixed")
					}
				}
				return err
			})
		}
		return nil
	})
}

// TestTLSCrowd: on a connection, and with goroutines among the tasks.
func TestTLSCrowd(t *testing.T) {
	for _, goroutines := range []bool{false, true} {
		run(t, func(ctx context.Context) error {
			a, b := tlsPair(t, ctx)
			if err := crowd(t, ctx, a, b, goroutines); err != nil {
				return err
			}
			return errors.Join(a.Close(), b.Close())
		})
	}
}

// TestTLSOrders: in any order of the tasks, on a pipe.
func TestTLSOrders(t *testing.T) {
	server, client := certificate(t)
	sim.Test(t, func(ctx context.Context) {
		x, y := socket.Pipe(ctx)
		a, b := socket.TLSServer(ctx, x, server), socket.TLSClient(ctx, y, client)
		if err := crowd(t, ctx, a, b, false); err != nil {
			t.Error(err)
		}
		x.Close()
		y.Close()
	})
}

// TestTLSGoesOn: reads and writes are cut off by deadlines and scopes, again and again
// and anywhere, also within a record. Who goes on where they stopped loses nothing.
func TestTLSGoesOn(t *testing.T) {
	text := longText(6 << 20)
	run(t, func(ctx context.Context) error {
		a, b := tlsPair(t, ctx)
		defer a.Close()
		defer b.Close()
		if err := both(ctx, a.HandshakeContext, b.HandshakeContext); err != nil {
			return err
		}
		cuts := 0
		// cut does something again and again until it has done size bytes.
		cut := func(ctx context.Context, size int, set func(time.Time) error, op func(at int) (int, error)) error {
			for at, i := 0, 0; at < size; i++ {
				short := time.Duration(1+i%7) * 50 * time.Microsecond
				var err error
				if i%2 == 0 {
					if err := set(time.Now().Add(short)); err != nil {
						return err
					}
					var n int
					n, err = op(at)
					at += n
					if err := set(time.Time{}); err != nil {
						return err
					}
				} else {
					err = rondo.Timeout(ctx, short, func(context.Context) error {
						n, err := op(at)
						at += n
						return err
					})
				}
				if err != nil {
					if cuts++; !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
						return err
					}
					if err := rondo.Sleep(ctx, short); err != nil {
						return err
					}
				}
			}
			return nil
		}
		got := make([]byte, len(text))
		err := both(ctx, func(ctx context.Context) error {
			if err := cut(ctx, len(text), a.SetWriteDeadline, func(at int) (int, error) { return a.Write(text[at:]) }); err != nil {
				return err
			}
			return a.CloseWrite() // what is left goes first
		}, func(ctx context.Context) error {
			return cut(ctx, len(text), b.SetReadDeadline, func(at int) (int, error) { return b.Read(got[at:]) })
		})
		if !bytes.Equal(got, text) || err != nil || cuts == 0 {
			t.Errorf("after %d cuts %v, and all the same: %v", cuts, err, bytes.Equal(got, text))
		}
		if n, err := b.Read(got); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d, %v", n, err)
		}
		return nil
	})
}

// TestTLSLate: what is past its deadline, or in a scope that is cancelled, does
// nothing at all.
func TestTLSLate(t *testing.T) {
	run(t, func(ctx context.Context) error {
		x, y := pair(t, ctx)
		a, b := rondoTLS.secured(t, ctx, x, y)
		defer a.Close()
		defer b.Close()
		if err := a.SetDeadline(time.Now().Add(-time.Second)); err != nil {
			return err
		}
		n, err := a.Write([]byte("late"))
		timedOut(t, "Write", err)
		if n != 0 {
			t.Errorf("wrote %d", n)
		}
		if err := a.SetDeadline(time.Time{}); err != nil {
			return err
		}
		// Some of a record is left in memory.
		if _, err := b.Write([]byte("1waits")); err != nil {
			return err
		}
		if err := readOne(a); err != nil {
			return err
		}
		because := errors.New("because")
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(because)
			n, wrote := a.Write([]byte("late"))
			m, read := a.Read(make([]byte, 10))
			if n != 0 || m != 0 || !errors.Is(wrote, because) || !errors.Is(read, because) {
				t.Errorf("wrote %d, %v; read %d, %v", n, wrote, m, read)
			}
			return nil
		})
		if !errors.Is(err, because) {
			return err
		}
		if _, err := a.Write([]byte("in time")); err != nil {
			return err
		}
		p := make([]byte, 10)
		if n, err := b.Read(p); string(p[:n]) != "in time" || err != nil {
			t.Errorf("read %q, %v", p[:n], err)
		}
		if n, err = a.Read(p); string(p[:n]) != "waits" || err != nil {
			t.Errorf("read %q, %v", p[:n], err)
		}
		// A wait that is cut off, for a cause that nobody knows, is as if it had not been.
		reader := rondo.Go(ctx, func(context.Context) error { return readOne(a) })
		waiting(ctx, "read", 1)
		reader.Cancel(because)
		if err := reader.Wait(ctx); !errors.Is(err, because) {
			t.Errorf("Read returned %v", err)
		}
		if _, err := b.Write([]byte("later")); err != nil {
			return err
		}
		if n, err = a.Read(p); string(p[:n]) != "later" || err != nil {
			t.Errorf("read %q, %v", p[:n], err)
		}
		return nil
	})
}

// TestTLSClose: Close ends what waits on the connection, from a task and from a
// goroutine, and does not wait for a Write that does.
func TestTLSClose(t *testing.T) {
	for _, goroutine := range []bool{false, true} {
		run(t, func(ctx context.Context) error {
			a, b := tlsPair(t, ctx)
			if err := both(ctx, a.HandshakeContext, b.HandshakeContext); err != nil {
				return err
			}
			var read, wrote error
			err := both(ctx, func(context.Context) error {
				_, read = b.Read(make([]byte, 1))
				return nil
			}, func(context.Context) error {
				_, wrote = b.Write(longText(12 << 20))
				return nil
			}, func(ctx context.Context) error {
				waiting(ctx, "read", 1)
				waiting(ctx, "write", 1)
				if goroutine {
					return outside(ctx, b.Close)
				}
				return b.Close()
			})
			if !errors.Is(read, net.ErrClosed) || !errors.Is(wrote, net.ErrClosed) || err != nil {
				t.Errorf("Read %v, Write %v, Close %v", read, wrote, err)
			}
			if n, err := b.Write([]byte("x")); n != 0 || !errors.Is(err, net.ErrClosed) || b.Close() != net.ErrClosed {
				t.Errorf("Write after Close: %d, %v", n, err)
			}
			return a.Close()
		})
	}
}

// TestTLSFarewell: close_notify waits five seconds for a peer that takes nothing, and no
// longer. The connection is closed all the same.
func TestTLSFarewell(t *testing.T) {
	server, client := certificate(t)
	sim.Test(t, func(ctx context.Context) {
		x, y := socket.Pipe(ctx)
		a, b := socket.TLSServer(ctx, x, server), socket.TLSClient(ctx, y, client)
		// The tickets of a server are read by who reads what comes after them.
		if err := both(ctx, a.HandshakeContext, func(context.Context) error { return errors.Join(b.Handshake(), readOne(b)) },
			func(context.Context) error { _, err := a.Write([]byte("x")); return err }); err != nil {
			t.Error(err)
		}
		for _, end := range []func() error{a.CloseWrite, a.Close} {
			start := rondo.Now(ctx)
			err := end()
			timedOut(t, "the end", err)
			if took := rondo.Now(ctx).Sub(start); took != 5*time.Second {
				t.Errorf("it took %v", took)
			}
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer: %v", err)
		}
		b.Close()
	})
}

func readOne(c net.Conn) error { _, err := io.ReadFull(c, make([]byte, 1)); return err }

// TestTLSWriteStops: a Write that nobody reads has taken little more than was sent when
// it is cut off, and what it says it has taken arrives.
func TestTLSWriteStops(t *testing.T) {
	text := longText(12 << 20)
	run(t, func(ctx context.Context) error {
		x, y := pair(t, ctx)
		a, b := rondoTLS.secured(t, ctx, x, y)
		defer a.Close()
		defer b.Close()
		if err := a.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			return err
		}
		n, err := a.Write(text)
		timedOut(t, "Write", err)
		// To try again does not make it take more and more.
		for range 2 * len(text) / (64 << 10) {
			if err := a.SetWriteDeadline(time.Now().Add(time.Millisecond)); err != nil {
				return err
			}
			m, _ := a.Write(text[n:])
			n += m
		}
		if n == len(text) {
			t.Error("all was taken, and nothing read")
		}
		if err := a.SetWriteDeadline(time.Time{}); err != nil {
			return err
		}
		return both(ctx, func(context.Context) error { return a.Close() }, func(context.Context) error {
			got, err := io.ReadAll(b)
			if !bytes.Equal(got, text[:n]) {
				t.Errorf("%d bytes came of %d", len(got), n)
			}
			return err
		})
	})
}

// TestTLSCloseInCallback: a callback must not wait, and closes all the same.
func TestTLSCloseInCallback(t *testing.T) {
	run(t, func(ctx context.Context) error {
		x, y := pair(t, ctx)
		a, b := rondoTLS.secured(t, ctx, x, y)
		defer a.Close()
		reader := rondo.Go(ctx, func(context.Context) error { _, err := b.Read(make([]byte, 1)); return err })
		waiting(ctx, "read", 1)
		var closed error
		rondo.LoopOf(ctx).CallSoon(func() { closed = b.Close() })
		if err := reader.Wait(ctx); !errors.Is(err, net.ErrClosed) || closed != nil {
			t.Errorf("Read %v, Close %v", err, closed)
		}
		if n, err := b.Write([]byte("x")); n != 0 || err != net.ErrClosed {
			t.Errorf("Write after Close: %d, %v", n, err)
		}
		return nil
	})
}

// TestTLSUnderWay: who asks during a handshake is not kept waiting, and who wants it too
// waits as long as its ctx lets it.
func TestTLSUnderWay(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := tlsPair(t, ctx)
		defer a.Close()
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error {
				if err := b.Handshake(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("the handshake: %v", err)
				}
				return nil
			})
			waiting(ctx, "read", 1)
			if state := b.ConnectionState(); state.HandshakeComplete || b.VerifyHostname("h") == nil {
				t.Errorf("during the handshake: %+v", state)
			}
			err := rondo.Timeout(g, time.Millisecond, func(context.Context) error {
				_, err := b.Write([]byte("x"))
				return err
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Write returned %v", err)
			}
			// One whose context of the standard library ends closes the connection, as
			// in crypto/tls.
			std, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			if err := b.HandshakeContext(std); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("HandshakeContext returned %v", err)
			}
			return nil
		})
	})
}

// TestTLSListener: a client that says nothing keeps nobody waiting; DialTLS takes the
// name from the address; a client without TLS can be told so.
func TestTLSListener(t *testing.T) {
	server, client := certificate(t)
	client.ServerName = ""
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addr := l.Addr().String()
		var failed error
		s := &socket.Server{OnError: func(_ net.Conn, err error) { failed = err }, Handler: func(ctx context.Context, c net.Conn) error {
			err := c.(*socket.TLSConn).HandshakeContext(ctx)
			var plain tls.RecordHeaderError
			if errors.As(err, &plain) {
				_, err = io.WriteString(plain.Conn, "speak TLS")
				return err
			}
			return errors.Join(err, echo(ctx, c))
		}}
		served := rondo.Go(ctx, func(ctx context.Context) error {
			return s.Serve(ctx, socket.NewTLSListener(ctx, l, server))
		})
		silent, err := socket.Dial(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer silent.Close()
		c, err := socket.DialTLS(ctx, "tcp", addr, client)
		if err != nil {
			return err
		}
		if c.NetConn().(*socket.Conn).LocalAddr() != c.LocalAddr() || c.RemoteAddr().String() != addr || client.ServerName != "" {
			t.Errorf("%v to %v", c.LocalAddr(), c.RemoteAddr())
		}
		if err := errors.Join(c.VerifyHostname("127.0.0.1"), roundTripTLS(t, c)); err != nil {
			t.Error(err)
		}
		plain, err := socket.Dial(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer plain.Close()
		if _, err := io.WriteString(plain, "GET / HTTP/1.0\r\n\r\n"); err != nil {
			return err
		}
		if got, err := io.ReadAll(plain); string(got) != "speak TLS" {
			t.Errorf("without TLS: %q, %v", got, err)
		}
		var unknown *tls.CertificateVerificationError
		if _, err := socket.DialTLS(ctx, "tcp", addr, nil); !errors.As(err, &unknown) {
			t.Errorf("without a root: %v", err)
		}
		for failed == nil {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if !strings.Contains(failed.Error(), "remote error: tls: bad certificate") {
			t.Errorf("the server was told: %v", failed)
		}
		// The silent one is cut off.
		if err := rondo.Timeout(ctx, time.Millisecond, s.Shutdown); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			return err
		}
		return c.Close()
	})
}

// roundTripTLS writes and reads back.
func roundTripTLS(t testing.TB, c net.Conn) error {
	p := make([]byte, 5)
	if _, err := fmt.Fprint(c, "hello"); err != nil {
		return err
	}
	_, err := io.ReadFull(c, p)
	if string(p) != "hello" {
		t.Errorf("%q came back", p)
	}
	return err
}

func TestTLSMisuse(t *testing.T) {
	ctx := context.Background()
	none := "this ctx belongs to no running loop"
	panics(t, "rondo: socket.TLSClient: "+none, func() { socket.TLSClient(ctx, nil, nil) })
	panics(t, "rondo: socket.TLSServer: "+none, func() { socket.TLSServer(ctx, nil, nil) })
	panics(t, "rondo: socket.NewTLSListener: "+none, func() { socket.NewTLSListener(ctx, nil, nil) })
	if _, err := socket.DialTLS(ctx, "tcp", "h", nil); !errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("DialTLS: %v", err)
	}
	run(t, func(ctx context.Context) error {
		panics(t, "rondo: socket.TLSClient with a Renegotiation", func() {
			socket.TLSClient(ctx, nil, &tls.Config{Renegotiation: tls.RenegotiateFreelyAsClient})
		})
		a, b := tlsPair(t, ctx)
		defer a.Close()
		defer b.Close()
		if err := b.CloseWrite(); err == nil || !strings.Contains(err.Error(), "handshake") {
			t.Errorf("CloseWrite before the handshake: %v", err)
		}
		return nil
	})
}

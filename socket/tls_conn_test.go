package socket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// tlsPair returns both ends, before the handshake.
func tlsPair(t testing.TB, ctx context.Context) (a, b *socket.TLSConn) {
	t.Helper()
	server, client := certificate(t)
	x, y := pair(t, ctx)
	return socket.TLSServer(ctx, x, server), socket.TLSClient(ctx, y, client)
}

// crowd starts many tasks, and goroutines if asked to, at both ends of a
// connection at once: some for the handshake, some that write lines, some that
// read bytes. All that was written arrives, and no line is inside another.
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

// TestTLSGoesOn: deadlines and scopes interrupt reads and writes again and
// again, at any point, also within a record. Continuing where they stopped
// loses nothing.
func TestTLSGoesOn(t *testing.T) {
	text := longText(6 << 20)
	run(t, func(ctx context.Context) error {
		a, b := tlsPair(t, ctx)
		if err := both(ctx, a.HandshakeContext, b.HandshakeContext); err != nil {
			return err
		}
		cuts := 0
		// cut repeats an operation until it has moved size bytes.
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

// TestTLSLate: an operation past its deadline, or in a cancelled scope, does
// nothing.
func TestTLSLate(t *testing.T) {
	run(t, func(ctx context.Context) error {
		x, y := pair(t, ctx)
		a, b := rondoTLS.secured(t, ctx, x, y)
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
		// Part of a record stays in memory.
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
		// A wait that was interrupted leaves no trace.
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

// TestTLSWriteStops: an interrupted Write to a peer that does not read has
// taken little more than was sent, and what it has taken arrives.
func TestTLSWriteStops(t *testing.T) {
	text := longText(12 << 20)
	run(t, func(ctx context.Context) error {
		x, y := pair(t, ctx)
		a, b := rondoTLS.secured(t, ctx, x, y)
		if err := a.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			return err
		}
		n, err := a.Write(text)
		timedOut(t, "Write", err)
		// Trying again does not make it take more and more.
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

// TestTLSReadsWhileUnsent: the peer does not read, so the rest of a Write that was cut off cannot
// be sent. A Read returns what has come all the same, and its own deadline ends it.
func TestTLSReadsWhileUnsent(t *testing.T) {
	server, client := certificate(t)
	text := longText(1 << 20)
	sim.Test(t, func(ctx context.Context) {
		x, y := socket.Pipe(ctx)
		c := socket.TLSClient(ctx, y, client)
		r := record(t, ctx, x, server, c)
		n := 0
		err := rondo.Timeout(ctx, time.Second, func(context.Context) (err error) { n, err = c.Write(text); return err })
		if !rondo.TimedOut(ctx, err) {
			t.Errorf("Write: %d, %v", n, err)
		}
		rondo.Go(ctx, func(context.Context) error {
			_, err := r.Write(append(r.update(), r.seal(recordData, "hello")...))
			return err
		})
		p := make([]byte, 10)
		if n, err := c.Read(p); string(p[:n]) != "hello" || err != nil {
			t.Errorf("read %q, %v", p[:n], err)
		}
		_ = c.SetReadDeadline(rondo.Now(ctx).Add(time.Second))
		_, err = c.Read(p)
		timedOut(t, "Read", err)
		err = both(ctx, func(context.Context) error { return c.CloseWrite() }, func(context.Context) error {
			got, updates, _, err := r.hear(0)
			if !bytes.Equal(got, text[:n]) || updates != 1 {
				t.Errorf("the peer got %d bytes of %d, and %d changes of keys", len(got), n, updates)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		x.Close()
		y.Close()
	})
}

// TestTLSUnderWay: a state query during a handshake returns at once, and a
// second handshake waits as long as its ctx allows.
func TestTLSUnderWay(t *testing.T) {
	run(t, func(ctx context.Context) error {
		_, b := tlsPair(t, ctx)
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
				if op := (*net.OpError)(nil); !errors.As(err, &op) || op.Op != "handshake" || op.Addr != b.RemoteAddr() {
					t.Errorf("the error of Write does not name the handshake and the peer: %#v", err)
				}
				return err
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Write returned %v", err)
			}
			// A standard context that ends closes the connection, as in
			// crypto/tls.
			std, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			if err := b.HandshakeContext(std); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("HandshakeContext returned %v", err)
			}
			return nil
		})
	})
}

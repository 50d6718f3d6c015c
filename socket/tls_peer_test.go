package socket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A write is the result of a Write.
type write struct {
	n    int
	err  error
	done bool
}

// buffer is the size of the system's buffers between the two. One that is set does not grow.
const buffer = 64 << 10

// stuffed returns a client whose Write waits because the peer does not read,
// and the peer.
func stuffed(t testing.TB, ctx context.Context, g *rondo.Scope, text []byte) (*recorder, *socket.TLSConn, *write) {
	t.Helper()
	server, client := certificate(t)
	a, b := pair(t, ctx)
	if err := errors.Join(a.SetReadBuffer(buffer), b.SetWriteBuffer(buffer)); err != nil {
		t.Fatal(err)
	}
	c := socket.TLSClient(ctx, b, client)
	r := record(t, ctx, a, server, c)
	w := new(write)
	g.Go(func(context.Context) error {
		w.n, w.err = c.Write(text)
		w.done = true
		return nil
	})
	waiting(ctx, "write", 1)
	return r, c, w
}

// await waits for the end of the Write.
func (w *write) await(ctx context.Context) error {
	for !w.done {
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

// updates makes the peer request new keys, and the client read something, again
// and again.
func updates(t testing.TB, r *recorder, c *socket.TLSConn) error {
	p := make([]byte, 10)
	for range 5 {
		if _, err := r.Write(append(r.update(), r.seal(recordData, "hello")...)); err != nil {
			return err
		}
		if n, err := c.Read(p); string(p[:n]) != "hello" || err != nil {
			t.Errorf("read %q, %v", p[:n], err)
		}
	}
	return nil
}

// TestTLSKeysChangeCut: the peer does not read, so a Write waits; the peer requests new keys all
// the same. The loop goes on, the reader reads, also when the Write was interrupted: it does not
// wait for the rest to be sent. The answers are behind what was encrypted with the old keys.
// Another Write sends the rest first.
func TestTLSKeysChangeCut(t *testing.T) {
	text := longText(12 << 20)
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			r, c, w := stuffed(t, ctx, g, text)
			defer r.Close()
			if err := updates(t, r, c); err != nil {
				return err
			}
			if err := errors.Join(c.SetWriteDeadline(time.Unix(1, 0)), w.await(ctx)); err != nil {
				return err
			}
			timedOut(t, "Write", w.err)
			if err := c.SetWriteDeadline(time.Time{}); err != nil {
				return err
			}
			if err := updates(t, r, c); err != nil {
				return err
			}
			g.Go(func(context.Context) error { _, err := c.Write(text[w.n:]); return err })
			got, updates, _, err := r.hear(len(text))
			if err != nil || !bytes.Equal(got, text) || updates != 10 {
				t.Errorf("the peer got %d bytes and %d changes of keys, %v", len(got), updates, err)
			}
			return c.Close()
		})
	})
}

// TestTLSDamaged: a Write waits, and a damaged record comes. Read returns the error, and
// the peer gets an alert.
func TestTLSDamaged(t *testing.T) {
	text := longText(12 << 20)
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			r, c, w := stuffed(t, ctx, g, text)
			defer r.Close()
			b := r.seal(recordData, "hello")
			b[len(b)-1] ^= 1
			if _, err := r.Write(b); err != nil {
				return err
			}
			if n, err := c.Read(make([]byte, 10)); n != 0 || err == nil || !strings.Contains(err.Error(), "bad record MAC") {
				t.Errorf("read %d, %v", n, err)
			}
			got, _, alert, err := r.hear(0)
			if err != nil || !bytes.HasPrefix(text, got) || string(alert) != "\x02\x14" {
				t.Errorf("the peer got %d bytes and %x, %v", len(got), alert, err)
			}
			if err := w.await(ctx); err != nil {
				return err
			}
			if w.err == nil || !strings.Contains(w.err.Error(), "bad record MAC") {
				t.Errorf("Write returned %v", w.err)
			}
			return c.Close()
		})
	})
}

// TestTLSOwed: a peer that does not read and requests new keys again and again
// does not fill the memory: after some answers nothing is read until the peer
// reads. Then everything goes on.
func TestTLSOwed(t *testing.T) {
	const rounds, answer = 1200, 27
	text := longText(12 << 20)
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			r, c, _ := stuffed(t, ctx, g, text)
			defer r.Close()
			read := 0
			g.Go(func(context.Context) error {
				p := make([]byte, 10)
				for read < rounds {
					n, err := c.Read(p)
					if read += n; err != nil {
						return err
					}
				}
				_, err := c.Write(p[:1]) // behind all that is owed
				return err
			})
			for range rounds {
				var b []byte
				for range 16 { // as many in a row as crypto/tls takes
					b = append(b, r.update()...)
				}
				if _, err := r.Write(append(b, r.seal(recordData, "x")...)); err != nil {
					return err
				}
			}
			waiting(ctx, "turn", 1)
			// 128 KiB of answers are owed at most. Those before them may be with the system, which
			// doubles the size of each of the two buffers.
			if most := (128<<10 + 2*2*buffer) / (16 * answer); read == 0 || read > most {
				t.Errorf("%d were read with nothing sent, of at most %d", read, most)
			}
			got, updates, _, err := r.hear(len(text))
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("the peer got %d bytes, %v", len(got), err)
			}
			for ; updates < 16*rounds && err == nil; updates++ {
				_, _, err = r.open()
			}
			if read != rounds || err != nil {
				t.Errorf("%d were read in the end, %v", read, err)
			}
			return c.Close()
		})
	})
}

// TestTLSCloseCuts: after a Close during a Write the peer does not read a clean
// end.
func TestTLSCloseCuts(t *testing.T) {
	text := longText(12 << 20)
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			r, c, w := stuffed(t, ctx, g, text)
			defer r.Close()
			if err := c.Close(); err != nil {
				return err
			}
			got, _, alert, err := r.hear(0)
			if err == nil || len(got) == len(text) || !bytes.HasPrefix(text, got) {
				t.Errorf("the peer got %d bytes and %x, %v", len(got), alert, err)
			}
			if err := w.await(ctx); err != nil || !errors.Is(w.err, net.ErrClosed) {
				t.Errorf("Write returned %v", w.err)
			}
			return nil
		})
	})
}

// TestTLSQuiet: after close_notify nothing is sent, and a peer that changes its
// keys is still understood.
func TestTLSQuiet(t *testing.T) {
	server, client := certificate(t)
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		c := socket.TLSClient(ctx, b, client)
		defer c.Close()
		r := record(t, ctx, a, server, c)
		if err := c.CloseWrite(); err != nil {
			return err
		}
		if _, err := r.Write(append(r.update(), r.seal(recordData, "hello")...)); err != nil {
			return err
		}
		p := make([]byte, 10)
		if n, err := c.Read(p); string(p[:n]) != "hello" || err != nil {
			t.Errorf("read %q, %v", p[:n], err)
		}
		if n, err := c.Write([]byte("more")); n != 0 || err == nil {
			t.Errorf("Write after CloseWrite: %d, %v", n, err)
		}
		if err := errors.Join(c.CloseWrite(), c.Close()); err != nil {
			return err
		}
		got, updates, alert, err := r.hear(0)
		if len(got) > 0 || updates > 0 || string(alert) != "\x01\x00" || err != nil {
			t.Errorf("the peer got %q, %d changes of keys, and %x, %v", got, updates, alert, err)
		}
		if _, _, err := r.open(); err != io.EOF {
			t.Errorf("after close_notify: %v", err)
		}
		return nil
	})
}

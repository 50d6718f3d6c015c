package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// seeds returns the seeds of a test: RONDO_SEED, if that is one, or some new ones.
func seeds(t testing.TB, n int) []uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("RONDO_SEED"), 10, 64); err == nil {
		return []uint64{seed}
	}
	if testing.Short() {
		n = max(n/4, 1)
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = rand.Uint64()
	}
	return list
}

// Stripes are a stream in which each byte follows from its position, so it is
// written and checked without being stored.
type stripes struct{ wrote, read int }

func stripe(i int) byte { return byte(i*7 + i>>8 + i>>16) }

func (p *stripes) next(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = stripe(p.wrote + i)
	}
	p.wrote += n
	return b
}

func (p *stripes) check(b []byte) error {
	for i, c := range b {
		if c != stripe(p.read+i) {
			return fmt.Errorf("byte %d is %d, not %d", p.read+i, c, stripe(p.read+i))
		}
	}
	if p.read += len(b); p.read > p.wrote {
		return fmt.Errorf("%d bytes were read of %d", p.read, p.wrote)
	}
	return nil
}

// A wire is one connection of the tests below: a Transport with all its
// operations, a peer with a task that reads in pieces and one that writes, and
// what must hold for both.
type wire struct {
	history
	rand   *rand.Rand
	tr     *socket.Transport
	peer   *socket.Conn
	out    stripes // Transport to peer
	in     stripes
	paused bool // PauseWriting was called last
	over   bool // no more is to be written by the Transport
	unruly bool // an operation that may lose bytes was done
}

const wireHigh, wireLow = 40_000, 9_000

// wires returns a Protocol for wires.
func wires(t testing.TB) *socket.Protocol {
	of := func(tr *socket.Transport) *wire { return tr.Value.(*wire) }
	return &socket.Protocol{
		High: wireHigh, Low: wireLow,
		Connected: func(tr *socket.Transport) { of(tr).note('C') },
		Data: func(tr *socket.Transport, b []byte) {
			w := of(tr)
			w.note('D')
			if err := w.in.check(b); err != nil {
				t.Errorf("Data: %v", err)
			}
			if w.rand.IntN(3) == 0 {
				w.act(1000)
			}
		},
		EOF: func(tr *socket.Transport) bool {
			w := of(tr)
			w.note('E')
			return !w.over
		},
		Lost: func(tr *socket.Transport, err error) {
			w := of(tr)
			w.note('L')
			w.err = err
			if tr.Buffered() != 0 {
				t.Error("Lost with bytes buffered")
			}
		},
		PauseWriting: func(tr *socket.Transport) {
			w := of(tr)
			if w.paused || tr.Buffered() <= wireHigh {
				t.Errorf("paused, paused before: %v, %d bytes", w.paused, tr.Buffered())
			}
			w.paused = true
		},
		ResumeWriting: func(tr *socket.Transport) {
			w := of(tr)
			if !w.paused || tr.Buffered() > wireLow {
				t.Errorf("resumed, paused before: %v, %d bytes", w.paused, tr.Buffered())
			}
			w.paused = false
		},
	}
}

// act does one thing to the Transport.
func (w *wire) act(most int) {
	switch w.rand.IntN(8) {
	case 0:
		if !w.over {
			w.tr.PauseReading()
		}
	case 1, 2:
		w.tr.ResumeReading()
	case 3:
		w.tr.Buffered()
	default:
		if w.paused || w.over || w.lost() {
			return
		}
		b := w.out.next(w.rand.IntN(most))
		n, err := w.tr.Write(b)
		for i := range b {
			b[i] = 255 // the caller may use it again
		}
		if err != nil {
			w.out.wrote -= len(b) - n
			if !w.unruly {
				w.t.Errorf("Write: %v", err)
			}
		}
		if w.tr.Buffered() > wireHigh && !w.paused && err == nil {
			w.t.Errorf("%d bytes are buffered, and writing was not paused", w.tr.Buffered())
		}
	}
}

// finish ends the sending side after everything was sent.
func (w *wire) finish() {
	w.over = true
	w.tr.ResumeReading()
	w.tr.CloseWrite()
}

// peerReads is the task that reads; it is slow now and then.
func (w *wire) peerReads(ctx context.Context) error {
	b := make([]byte, 30_000)
	for {
		n, err := w.peer.Read(b[:1+w.rand.IntN(len(b)-1)])
		if err := w.out.check(b[:n]); err != nil {
			return err
		}
		if err != nil {
			if err == io.EOF || w.unruly {
				return nil
			}
			return err
		}
		for range w.rand.IntN(20) {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
	}
}

// peerWrites is the task that writes.
func (w *wire) peerWrites(ctx context.Context, times int) error {
	for range times {
		b := w.in.next(w.rand.IntN(20_000))
		if _, err := w.peer.Write(b); err != nil {
			if w.unruly {
				return nil
			}
			return err
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	w.peer.CloseWrite()
	return nil
}

// TestProtocolModel: whatever is written, paused and read in pieces, all bytes
// arrive in order on both sides, the water marks hold, and so does the order of
// callbacks.
func TestProtocolModel(t *testing.T) {
	for _, seed := range seeds(t, 4) {
		p := wires(t)
		run(t, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 10 {
					r := rand.New(rand.NewPCG(seed, uint64(i)))
					w := &wire{history: history{t: t}, rand: r}
					a, b := pair(t, g)
					// A small buffer of the system: much is left to the Transport.
					a.SetWriteBuffer(16 << 10)
					tr, err := p.Attach(g, a)
					if err != nil {
						return err
					}
					w.tr, w.peer, tr.Value = tr, b, w
					reads := g.Go(w.peerReads)
					writes := g.Go(func(ctx context.Context) error { return w.peerWrites(ctx, 60) })
					g.Go(func(ctx context.Context) error {
						for range 300 {
							w.act(30_000)
							for range w.rand.IntN(5) {
								rondo.Yield(ctx)
							}
						}
						w.finish()
						err := errors.Join(until(ctx, w.lost), reads.Wait(ctx), writes.Wait(ctx))
						if w.err != nil || w.in.read != w.in.wrote || w.out.read != w.out.wrote {
							t.Errorf("connection %d: Lost with %v, %+v in, %+v out", i, w.err, w.in, w.out)
						}
						return errors.Join(err, w.peer.Close())
					})
				}
				return nil
			})
		})
		if t.Failed() {
			t.Fatalf("replay: RONDO_SEED=%d", seed)
		}
	}
}

// TestProtocolLives: connections end in every way at any moment, by themselves,
// by the peer, or by their scope. Each gets its callbacks in order and its
// Lost, what arrives is a prefix of what was sent, and nothing is left.
func TestProtocolLives(t *testing.T) {
	for _, seed := range seeds(t, 15) {
		p := wires(t)
		var all []*wire
		stop := errors.New("stop")
		run(t, func(ctx context.Context) error {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 30 {
					r := rand.New(rand.NewPCG(seed, uint64(i)))
					w := &wire{history: history{t: t}, rand: r, unruly: true}
					all = append(all, w)
					a, b := pair(t, ctx)
					tr, err := p.Attach(g, a)
					if err != nil {
						return err
					}
					w.tr, w.peer, tr.Value = tr, b, w
					rondo.Go(ctx, w.peerReads)
					rondo.Go(ctx, func(ctx context.Context) error { return w.peerWrites(ctx, w.rand.IntN(20)) })
					rondo.Go(g, w.live)
				}
				// By then some have ended, and some have not begun.
				for range rand.New(rand.NewPCG(seed, 99)).IntN(400) {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				g.Cancel(stop)
				return nil
			})
			if err != nil && err != stop {
				t.Errorf("the Group returned %v", err)
			}
			for i, w := range all {
				var named *net.OpError
				if !w.lost() || w.err != nil && w.err != stop && !errors.As(w.err, &named) {
					t.Errorf("connection %d: %s, Lost with %v", i, w.calls, w.err)
				}
				w.peer.Close()
			}
			return nil
		})
		if t.Failed() {
			t.Fatalf("replay: RONDO_SEED=%d", seed)
		}
	}
}

// live does things to the connection until one of them is the last.
func (w *wire) live(ctx context.Context) error {
	for !w.lost() {
		switch w.rand.IntN(60) {
		case 0:
			w.over = true
			w.tr.Close()
		case 1:
			w.over = true
			w.tr.Abort()
		case 2:
			w.finish()
		case 3:
			w.peer.Close()
		case 4:
			w.peer.SetLinger(0)
			w.peer.Close()
		case 5:
			w.peer.CloseWrite()
		default:
			w.act(100_000)
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	// After the end nothing has an effect, and nothing panics.
	w.tr.Close()
	w.tr.CloseWrite()
	w.tr.Abort()
	w.tr.PauseReading()
	w.tr.ResumeReading()
	if _, err := w.tr.Write([]byte("x")); err == nil {
		w.t.Error("Write after Lost")
	}
	return rondo.Sleep(ctx, time.Microsecond)
}

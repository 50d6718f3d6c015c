package socket_test

import (
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

// A counted is a connection of the program's over another one. It cannot be the key of a map.
type counted struct {
	net.Conn
	_ []int
}

func (c counted) NetConn() net.Conn { return c.Conn }

// A looped says that it is below itself.
type looped struct{ net.Conn }

func (c looped) NetConn() net.Conn { return c }

// A hidden is one that does not say what is below it.
type hidden struct {
	net.Conn
	_ []int
}

// TestLimitsOfOtherListeners: the limits of time hold for ends of a Pipe, also below another
// connection if that says so. One that does not, or says that it is below itself, is served all
// the same, without limits.
func TestLimitsOfOtherListeners(t *testing.T) {
	const first, idle = 5 * time.Second, 20 * time.Second
	around := map[string]func(c net.Conn) net.Conn{
		"a pipe":       func(c net.Conn) net.Conn { return c },
		"with NetConn": func(c net.Conn) net.Conn { return counted{Conn: counted{Conn: c}} },
		"without":      func(c net.Conn) net.Conn { return hidden{Conn: c} },
		"of itself":    func(c net.Conn) net.Conn { return looped{c} },
	}
	for name, wrap := range around {
		free := name == "without" || name == "of itself"
		for _, form := range []string{"Handler", "Session"} {
			if form == "Session" && name != "a pipe" {
				continue // it takes connections of this package alone
			}
			t.Run(name+"/"+form, func(t *testing.T) {
				sim.Test(t, func(ctx context.Context) {
					serve, stats := forms[form](socket.Limits{FirstByte: first, Idle: idle}, func(err error) { t.Error(err) })
					l := &pipes{ctx: ctx, queue: rondo.NewQueue[net.Conn](0), wrap: wrap}
					server := rondo.Go(ctx, func(ctx context.Context) error { return serve(ctx, l) })
					for _, bytes := range []int{0, 1} {
						ours, theirs := socket.Pipe(ctx)
						_ = l.queue.Put(ctx, theirs)
						start := rondo.Now(ctx)
						for range bytes {
							if err := roundTripByte(ours); err != nil {
								t.Error(err)
							}
						}
						_ = ours.SetReadDeadline(start.Add(time.Hour))
						_, err := ours.Read(make([]byte, 1))
						least, most := first, first
						switch {
						case free:
							least, most = time.Hour, time.Hour
						case bytes > 0:
							least, most = idle, idle+idle/4
						}
						if took := rondo.Now(ctx).Sub(start).Round(time.Second); err == nil || took < least || took > most {
							t.Errorf("after %d bytes: %v after %v, want an end between %v and %v", bytes, err, took, least, most)
						}
						_ = ours.Close()
					}
					_ = rondo.Sleep(ctx, time.Second)
					want := socket.Stats{Accepted: 2, Silent: 1, Idle: 1}
					if free {
						want = socket.Stats{Accepted: 2}
					}
					if s := stats(); s != want {
						t.Errorf("%+v, want %+v", s, want)
					}
					_ = l.Close()
					_ = server.Wait(ctx)
				})
			})
		}
	}
}

// TestLimitsOfAttach: of the limits of a Protocol, one that is attached has Idle alone.
func TestLimitsOfAttach(t *testing.T) {
	run(t, func(ctx context.Context) error {
		echo := func(tr *socket.Transport, b []byte) { _, _ = tr.Write(b) }
		free := &socket.Protocol{Data: echo, Limits: socket.Limits{FirstByte: 1, ConnsPerAddr: 1, RatePerAddr: 1}}
		for range 3 {
			tr, peer := attached(t, ctx, free)
			defer tr.Abort()
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
			if err := roundTripByte(peer); err != nil {
				t.Errorf("without Idle: %v", err)
			}
		}
		var lost []error
		p := &socket.Protocol{
			Limits: socket.Limits{FirstByte: 1, Idle: 10 * time.Millisecond},
			Data:   echo,
			Lost:   func(_ *socket.Transport, err error) { lost = append(lost, err) },
		}
		for _, text := range []string{"", "x"} {
			_, peer := attached(t, ctx, p)
			_, _ = io.WriteString(peer, text)
			_, _ = io.Copy(io.Discard, peer) // until the other end closes it
			_ = peer.Close()
		}
		if err := until(ctx, func() bool { return len(lost) == 2 }); err != nil {
			return err
		}
		for _, err := range lost {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Lost with %v", err)
			}
		}
		if s := p.Stats(); s != (socket.Stats{Idle: 2}) {
			t.Errorf("%+v", s)
		}
		return nil
	})
}

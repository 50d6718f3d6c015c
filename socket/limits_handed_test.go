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

// idling serves a session that reads byte by byte, with a limit Idle, on one end of a Pipe. It
// returns the other end, and what ends the server.
func idling(ctx context.Context, wrap func(c net.Conn) net.Conn) (ours net.Conn, end func() (socket.Stats, error)) {
	server := &socket.Server{
		Limits:  socket.Limits{Idle: 20 * time.Second},
		OnError: func(net.Conn, error) {},
		Session: func(c net.Conn) func(ctx context.Context) error {
			return func(context.Context) error { return readOne(c) }
		},
	}
	l := &pipes{ctx: ctx, queue: rondo.NewQueue[net.Conn](0), wrap: wrap}
	served := rondo.Go(ctx, func(ctx context.Context) error { return server.Serve(ctx, l) })
	ours, theirs := socket.Pipe(ctx)
	_ = l.queue.Put(ctx, theirs)
	return ours, func() (socket.Stats, error) {
		s := server.Stats()
		_ = ours.Close()
		_ = l.Close()
		err := served.Wait(ctx)
		if errors.Is(err, net.ErrClosed) {
			err = nil
		}
		return s, err
	}
}

// TestByteAtLimit: a byte that comes just when a session has been idle for too long does not keep
// it open without a limit.
func TestByteAtLimit(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ours, end := idling(ctx, func(c net.Conn) net.Conn { return c })
		_ = rondo.Sleep(ctx, 20*time.Second)
		_, err := ours.Write([]byte("x"))
		sim.Sometimes(ctx, err == nil, "it is open")
		_ = ours.SetReadDeadline(rondo.Now(ctx).Add(time.Hour))
		if _, err := io.Copy(io.Discard, ours); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("it is open after an hour")
		}
		if s, err := end(); s.Idle != 1 || s.Open != 0 || err != nil {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestLimitOfGreedyPeer: a peer that asks for new keys again and again, and reads nothing, is
// disconnected when nothing moves any more.
func TestLimitOfGreedyPeer(t *testing.T) {
	server, client := certificate(t)
	server.SessionTicketsDisabled = true
	sim.Config{Exact: true, Seeds: 3, SeedsShort: 3}.Test(t, func(ctx context.Context) {
		ours, end := idling(ctx, func(c net.Conn) net.Conn { return socket.TLSServer(ctx, c, server) })
		r := recordClient(t, ours, client)
		_ = ours.SetWriteDeadline(rondo.Now(ctx).Add(time.Hour))
		_, err := r.Write(r.seal(recordData, "x"))
		_ = rondo.Sleep(ctx, time.Second) // from here on the session is idle
		for err == nil {
			var b []byte
			for range 16 { // as many in a row as crypto/tls takes
				b = append(b, r.update()...)
			}
			_, err = r.Write(append(b, r.seal(recordData, "x")...))
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("it is open after an hour")
		}
		if s, err := end(); s.Idle != 1 || s.Open != 0 || err != nil {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

package socket_test

import (
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

// TestAttachInALimit: the limit of a scope does not hold back the task that serves connections.
func TestAttachInALimit(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(1)
			g.Go(func(ctx context.Context) error {
				var heard rondo.Event
				p := noted(t, &socket.Protocol{Data: func(*socket.Transport, []byte) { heard.Set() }})
				tr, err := p.Attach(ctx, a)
				if err != nil {
					return err
				}
				defer tr.Abort()
				if _, err := io.WriteString(b, "x"); err != nil {
					return err
				}
				return errors.Join(heard.Wait(ctx), b.Close())
			})
			return nil
		})
	})
}

// TestAttach: data that the system has already received comes as Data; the Conn
// is closed; and a connection that cannot be taken over stays as it is.
func TestAttach(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var got []byte
		p := noted(t, &socket.Protocol{Data: func(_ *socket.Transport, b []byte) { got = append(got, b...) }})
		a, b := pair(t, ctx)
		io.WriteString(b, "early bird")
		first := make([]byte, 6)
		if _, err := io.ReadFull(a, first); err != nil {
			return err
		}

		reader := rondo.Go(ctx, func(context.Context) error { _, err := b.Read(make([]byte, 10)); return err })
		waiting(ctx, "read", 1)
		if _, err := p.Attach(ctx, b); err == nil || !strings.Contains(err.Error(), "a task is reading") {
			t.Errorf("Attach of a connection that is read: %v", err)
		}

		tr, err := p.Attach(ctx, a)
		if err != nil {
			return err
		}
		if _, err := a.Read(first); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read of the Conn: %v", err)
		}
		if err := a.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Close of the Conn: %v", err)
		}
		if _, err := p.Attach(ctx, a); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Attach again: %v", err)
		}
		if err := until(ctx, func() bool { return string(got) == "bird" }); err != nil {
			return err
		}
		if tr.RemoteAddr().String() != b.LocalAddr().String() || tr.LocalAddr().String() != b.RemoteAddr().String() {
			t.Errorf("addresses %v, %v", tr.LocalAddr(), tr.RemoteAddr())
		}
		tr.Abort()
		if err := reader.Wait(ctx); err != io.EOF {
			t.Errorf("the reader: %v", err)
		}
		b.Close()

		x, y := socket.Pipe(ctx)
		if _, err := p.Attach(ctx, x); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Attach of a Pipe: %v", err)
		}
		if err := both(ctx, func(context.Context) error { _, err := x.Write([]byte("x")); return err },
			func(context.Context) error { _, err := y.Read(first); return err }); err != nil {
			t.Errorf("the Pipe afterwards: %v", err)
		}
		if _, err := p.Attach(context.Background(), x); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("without a loop: %v", err)
		}
		return nil
	})
}

// TestAttachStandard: connections of package net, and a Unix socket.
func TestAttachStandard(t *testing.T) {
	p := noted(t, &socket.Protocol{Data: func(tr *socket.Transport, b []byte) { tr.Write(b) }})
	for _, network := range []string{"tcp", "unix"} {
		peer, c, l := netPair(t, network)
		l.Close()
		local := c.LocalAddr().String()
		run(t, func(ctx context.Context) error {
			tr, err := p.Attach(ctx, c)
			if err != nil {
				return err
			}
			if tr.LocalAddr().String() != local || tr.LocalAddr().Network() != network || tr.RemoteAddr().Network() != network {
				t.Errorf("addresses %v, %v", tr.LocalAddr(), tr.RemoteAddr())
			}
			_, err = rondo.Offload(ctx, func(context.Context) (int, error) {
				io.WriteString(peer, "hello")
				got := make([]byte, 5)
				_, err := io.ReadFull(peer, got)
				if string(got) != "hello" {
					t.Errorf("%q", got)
				}
				if err != nil {
					return 0, err
				}
				if err := rondo.LoopOf(ctx).Post(tr.Close); err != nil {
					return 0, err
				}
				// Nothing else holds the connection open.
				peer.SetReadDeadline(time.Now().Add(10 * time.Second))
				_, err = io.ReadAll(peer)
				return 0, err
			})
			return err
		})
		peer.Close()
	}
}

// TestAttachShares: all connections attached with one ctx have one task, which ends with the last
// of them; a later one gets a new task. Those that are left when their scope ends are aborted, in
// whatever state, and it waits for their Lost.
func TestAttachShares(t *testing.T) {
	var lives []*history
	run(t, func(ctx context.Context) error {
		p := noted(t, &socket.Protocol{})
		tasks := func() (n int) {
			for _, info := range rondo.Tasks(ctx) {
				if info.Name == "protocol" {
					n++
				}
			}
			return n
		}
		for range 3 {
			var all []*socket.Transport
			for range 10 {
				tr, _ := attached(t, ctx, p)
				all = append(all, tr)
				lives = append(lives, tr.Value.(*history))
				rondo.Yield(ctx)
			}
			if n := tasks(); n != 1 {
				t.Errorf("%d tasks for ten connections", n)
			}
			for _, tr := range all {
				tr.Abort()
			}
			if err := until(ctx, func() bool { return tasks() == 0 }); err != nil {
				return err
			}
		}
		for i := range 10 {
			tr, _ := attached(t, ctx, p)
			lives = append(lives, tr.Value.(*history))
			if i%5 > 0 {
				tr.PauseReading()
			}
			if i%5 > 1 {
				tr.Write(make([]byte, 8<<20))
			}
			switch i % 5 {
			case 3:
				tr.Close()
			case 4:
				tr.CloseWrite()
			}
		}
		return nil
	})
	for i, h := range lives {
		if !h.lost() || i >= 30 && !errors.Is(h.err, context.Canceled) {
			t.Errorf("connection %d: %q, %v", i, h.calls, h.err)
		}
	}
}

// TestAttachLinger: with a linger time close(2) may block, so another goroutine calls it. It does.
func TestAttachLinger(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		if err := a.SetLinger(1); err != nil {
			return err
		}
		tr, err := noted(t, &socket.Protocol{}).Attach(ctx, a)
		if err != nil {
			return err
		}
		tr.Value = &history{t: t}
		tr.Close()
		_, err = io.ReadAll(b)
		return err
	})
}

// TestLocalAddrAfterEnd: the numbers of connections that have ended are those of others.
func TestLocalAddrAfterEnd(t *testing.T) {
	run(t, func(ctx context.Context) error {
		closed, _ := pair(t, ctx)
		taken, _ := pair(t, ctx)
		was := []string{closed.LocalAddr().String(), taken.LocalAddr().String()}
		if err := closed.Close(); err != nil {
			return err
		}
		tr, err := noted(t, &socket.Protocol{}).Attach(ctx, taken)
		if err != nil {
			return err
		}
		tr.Value = &history{t: t}
		tr.Abort()
		if err := turns(ctx, 3); err != nil {
			return err
		}
		pair(t, ctx)
		pair(t, ctx)
		for i, c := range []*socket.Conn{closed, taken} {
			if now := c.LocalAddr().String(); now != was[i] {
				t.Errorf("connection %d: %s, and afterwards %s", i, was[i], now)
			}
		}
		return nil
	})
}

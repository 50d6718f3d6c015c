//go:build linux && !rondo_portable

package socket_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// Peers that keep the protocol and mean harm.

// TestSlowPeers: 50 peers send a line that never ends, byte by byte. Others are
// served meanwhile, and the deadline of the whole request ends each slow one,
// although there is always something to read.
func TestSlowPeers(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		ended := 0
		s := &socket.Server{OnError: func(_ net.Conn, err error) {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a slow peer ended with %v", err)
			}
			ended++
		}, Handler: func(_ context.Context, c net.Conn) error {
			if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
				return err
			}
			line, err := bufio.NewReader(c).ReadString('\n')
			if err != nil {
				return err
			}
			_, err = io.WriteString(c, line)
			return err
		}}
		rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 50 {
				g.Go(func(ctx context.Context) error {
					c, err := socket.Dial(ctx, "tcp", l.Addr().String())
					if err != nil {
						return err
					}
					defer c.Close()
					for {
						if _, err := c.Write([]byte("x")); err != nil {
							return nil // the server has closed
						}
						if err := rondo.Sleep(ctx, 200*time.Microsecond); err != nil {
							return err
						}
					}
				})
			}
			for range 20 {
				c, err := socket.Dial(g, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				io.WriteString(c, "hello\n")
				if got, err := io.ReadAll(c); string(got) != "hello\n" || err != nil {
					t.Errorf("beside slow peers: %q, %v", got, err)
				}
				c.Close()
			}
			return nil
		})
		if ended != 50 {
			t.Errorf("%d slow peers were ended, want 50", ended)
		}
		return errors.Join(err, s.Shutdown(ctx))
	})
}

// TestUrgentPeer: a peer sends urgent data between all other bytes, one byte a
// time. A Conn and a Protocol get every other byte, and the end. Linux puts an
// urgent byte into the stream when the next one comes.
func TestUrgentPeer(t *testing.T) {
	const n = 500
	others := func(b []byte) int { return bytes.Count(b, []byte("x")) }
	send := func(peer *socket.Conn) error {
		raw, err := peer.SyscallConn()
		if err != nil {
			return err
		}
		for range n {
			if _, err := peer.Write([]byte("x")); err != nil {
				return err
			}
			if e := raw.Control(func(sys uintptr) { err = unix.Send(int(sys), []byte("!"), unix.MSG_OOB) }); e != nil || err != nil {
				return errors.Join(e, err)
			}
		}
		return peer.CloseWrite()
	}
	run(t, func(ctx context.Context) error {
		a, peer := pair(t, ctx)
		defer a.Close()
		defer peer.Close()
		return both(ctx, func(context.Context) error { return send(peer) }, func(context.Context) error {
			got, err := io.ReadAll(a)
			if others(got) != n {
				t.Errorf("a Conn read %d bytes, want %d", others(got), n)
			}
			return err
		})
	})
	run(t, func(ctx context.Context) error {
		var got []byte
		tr, peer := attached(t, ctx, noted(t, &socket.Protocol{Data: func(_ *socket.Transport, b []byte) { got = append(got, b...) }}))
		defer peer.Close()
		if err := send(peer); err != nil {
			return err
		}
		if err := until(ctx, tr.Value.(*history).lost); err != nil {
			return err
		}
		if h := tr.Value.(*history); others(got) != n || h.err != nil {
			t.Errorf("a Protocol got %d bytes, want %d; lost with %v", others(got), n, h.err)
		}
		return nil
	})
}

//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestProtocolMany: ten thousand connections, or as many as the limit of open
// files allows, each answered twice, on one loop, without a goroutine for any
// of them. Both ends are in this process, so each connection uses two files.
func TestProtocolMany(t *testing.T) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	conns := int(min(10_000, (uint64(files.Cur)-100)/2))
	lost, made := 0, 0
	p := &socket.Protocol{
		Connected: func(*socket.Transport) { made++ },
		Data:      func(tr *socket.Transport, b []byte) { tr.Write(b) },
		Lost: func(_ *socket.Transport, err error) {
			if lost++; err != nil {
				t.Errorf("Lost with %v", err)
			}
		},
	}
	before := runtime.NumGoroutine()
	run(t, func(ctx context.Context) error {
		return protocol(t, ctx, p, func(ctx context.Context, addr string) error {
			peers := make([]net.Conn, conns)
			defer func() {
				for _, c := range peers {
					if c != nil {
						c.Close()
					}
				}
			}()
			for i := range peers {
				var err error
				if peers[i], err = socket.Dial(ctx, "tcp", addr); err != nil {
					return err
				}
			}
			for range 2 {
				for _, c := range peers {
					if _, err := io.WriteString(c, "ping"); err != nil {
						return err
					}
				}
				b := make([]byte, 4)
				for _, c := range peers {
					if _, err := io.ReadFull(c, b); err != nil {
						return err
					}
				}
			}
			if n := runtime.NumGoroutine() - before; n > 20 {
				t.Errorf("%d goroutines for %d connections", n, made)
			}
			return nil
		})
	})
	if lost != conns || made != conns {
		t.Errorf("%d were made and %d lost, of %d", made, lost, conns)
	}
}

// TestProtocolFlood: connections that send without end delay neither the
// answers to another one nor the turn of a task.
//
// Method: while 20 goroutines flood, the same Protocol answers a ping, and the
// test counts the bytes of the flood that are read meanwhile. It guards against
// reading one socket until it is empty.
func TestProtocolFlood(t *testing.T) {
	const floods = 20
	var ping *socket.Transport
	reads, most, turns := 0, 0, 0
	p := &socket.Protocol{Data: func(tr *socket.Transport, b []byte) {
		if tr == ping {
			tr.Write(b)
			return
		}
		reads++
	}}
	run(t, func(ctx context.Context) error {
		var flood sync.WaitGroup
		var in []*socket.Transport
		for range floods {
			tr, out := attached(t, ctx, p)
			in = append(in, tr)
			flood.Go(func() {
				defer out.Close()
				for b := make([]byte, 64<<10); ; {
					if _, err := out.Write(b); err != nil {
						return
					}
				}
			})
		}
		var c *socket.Conn
		ping, c = attached(t, ctx, p)
		defer c.Close()
		b := make([]byte, 1)
		for range 100 {
			before := reads
			if _, err := c.Write(b); err != nil {
				return err
			}
			if _, err := c.Read(b); err != nil {
				return err
			}
			most = max(most, reads-before)
		}
		for range 100 {
			before := reads
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			turns = max(turns, reads-before)
		}
		for _, tr := range in {
			tr.Abort()
		}
		_, err := rondo.Offload(ctx, func(context.Context) (int, error) { flood.Wait(); return 0, nil })
		return err
	})
	if turns > 16 {
		t.Errorf("%d reads between two turns of a task", turns)
	}
	// Two polls of the driver; a busy loop polls it every 64 steps.
	if most > 16*64*4 {
		t.Errorf("%d reads during one ping", most)
	}
}

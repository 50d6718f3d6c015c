package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
	"github.com/rondo-go/rondo/socket"
)

// TestMain passes the child the address at which it listens, and its idle time.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address = os.Args[1]
		if len(os.Args) > 2 {
			idleTime, _ = time.ParseDuration(os.Args[2])
		}
		main()
	})
}

// TestSession has two clients share the store, also with commands that come
// together, and one that waits.
func TestSession(t *testing.T) {
	p, address := talk.Start(t)
	a, b := talk.Dial(t, address), talk.Dial(t, address)
	a.Says("get name")
	a.Hears("none")
	a.Says("set name Rondo Alla Turca", "get name", "sing")
	a.Hears("ok", "= Rondo Alla Turca", `error: no command is called "sing"`)
	b.Says("get name")
	b.Hears("= Rondo Alla Turca")
	b.Says("wait composer")
	a.Says("set composer Mozart")
	a.Hears("ok")
	b.Hears("= Mozart")
	a.Says("quit")
	a.Ends()
	p.Interrupt()
	p.Wait()
}

// TestLeavers has clients leave that wait for keys that nobody sets: nothing of them stays.
func TestLeavers(t *testing.T) {
	s := newStore()
	server := &socket.Server{Session: s.session}
	until := func(ctx context.Context, is func() bool) {
		for !is() && rondo.Sleep(ctx, time.Microsecond) == nil {
		}
	}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "localhost:0")
		if err != nil {
			return err
		}
		served := rondo.Go(ctx, func(ctx context.Context) error { return server.Serve(ctx, l) })
		var clients []net.Conn
		for _, key := range []string{"a", "a", "b"} {
			c, err := socket.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintln(c, "wait", key)
			clients = append(clients, c)
		}
		until(ctx, func() bool { return len(s.wishes) == 2 && s.wishes["a"].waiters == 2 })
		for _, c := range clients {
			_ = c.Close()
		}
		until(ctx, func() bool { return server.Conns() == 0 })
		if left := server.Stats().PeerClosed; len(s.wishes) > 0 || left != 3 {
			t.Errorf("%d wishes are left, %d clients were noticed to leave", len(s.wishes), left)
		}
		if err := server.Shutdown(ctx); err != nil {
			return err
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			return err
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestIdle has a client that says nothing disconnected, with no answer.
func TestIdle(t *testing.T) {
	p, address := talk.Start(t, "20ms")
	talk.Dial(t, address).Ends()
	p.Interrupt()
	p.Wait()
}

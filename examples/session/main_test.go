package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
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

// A client is a connection under test.
type client struct {
	*testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, address string) *client {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{t, c, bufio.NewReader(c)}
}

// says sends commands and wants the answers.
func (c *client) says(commands string, answers ...string) {
	c.Helper()
	if _, err := io.WriteString(c, commands); err != nil {
		c.Fatal(err)
	}
	for _, want := range answers {
		if line, err := c.in.ReadString('\n'); err != nil || line != want+"\n" {
			c.Fatalf("%q: got %q and %v, want %q", commands, line, err, want)
		}
	}
}

// TestSession has two clients share the store, also with commands that come
// together, and one that waits.
func TestSession(t *testing.T) {
	p := program.Start(t, "localhost:0")
	address := strings.TrimPrefix(p.Line(), "listening on ")
	a, b := dial(t, address), dial(t, address)
	a.says("get name\n", "none")
	a.says("set name Rondo Alla Turca\nget name\nsing\n", "ok", "= Rondo Alla Turca", `error: no command is called "sing"`)
	b.says("get name\n", "= Rondo Alla Turca")
	b.says("wait composer\n")
	a.says("set composer Mozart\n", "ok")
	b.says("", "= Mozart")
	a.says("quit\n")
	if _, err := a.in.ReadByte(); err != io.EOF {
		t.Errorf("after quit: %v", err)
	}
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
	p := program.Start(t, "localhost:0", "20ms")
	c := dial(t, strings.TrimPrefix(p.Line(), "listening on "))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	p.Interrupt()
	p.Wait()
}

package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// numbered is a session that sends each line back with its number.
func numbered(c net.Conn) func(ctx context.Context) error {
	r := bufio.NewReader(c)
	lines := 0
	return func(ctx context.Context) error {
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return err
			}
			lines++
			if _, err := fmt.Fprintf(c, "%d %s", lines, line); err != nil || r.Buffered() == 0 {
				return err
			}
		}
	}
}

// serving runs body with a server and its address, and shuts the server down.
func serving(t *testing.T, s *socket.Server, body func(ctx context.Context, addr string) error) {
	t.Helper()
	run(t, func(ctx context.Context) error {
		addr, served := start(t, ctx, s)
		if err := body(ctx, addr); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
		return nil
	})
}

// TestSessionWaits: a call may wait; other sessions go on, also with requests
// that have come at the same time.
func TestSessionWaits(t *testing.T) {
	var open rondo.Event
	s := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
		r := bufio.NewReader(c)
		return func(ctx context.Context) error {
			line, err := r.ReadString('\n')
			if err == nil && line == "wait\n" {
				err = open.Wait(ctx)
			}
			if err == nil {
				_, err = io.WriteString(c, line)
			}
			return err
		}
	}}
	serving(t, s, func(ctx context.Context, addr string) error {
		var conns []net.Conn
		for range 4 {
			c := connected(t, ctx, s, addr)
			conns = append(conns, c)
		}
		for i, line := range []string{"wait\n", "wait\n", "go\n", "go\n"} {
			if _, err := io.WriteString(conns[i], line); err != nil {
				return err
			}
		}
		for _, c := range conns[2:] {
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "go\n" {
				t.Errorf("got %q, %v", line, err)
			}
		}
		waiting(ctx, "event", 2)
		names := 0
		for _, task := range rondo.Tasks(ctx) {
			if task.Waiting == "event" && strings.HasPrefix(task.Name, "conn 127.0.0.1:") {
				names++
			}
		}
		if names != 2 {
			t.Errorf("%d of the waiting tasks have the names of their connections, want 2", names)
		}
		idle := func() rondo.TaskInfo {
			i := slices.IndexFunc(rondo.Tasks(ctx), func(t rondo.TaskInfo) bool { return t.Waiting == "idle sessions" })
			return rondo.Tasks(ctx)[i]
		}
		if err := until(ctx, func() bool { return idle().On == 2 }); err != nil {
			return err
		}
		if name := idle().Name; name != "sessions" {
			t.Errorf("the task that stands for the idle sessions is named %q", name)
		}
		open.Set()
		for _, c := range conns[:2] {
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "wait\n" {
				t.Errorf("got %q, %v", line, err)
			}
		}
		return nil
	})
}

// TestSessionDeadline: a deadline that passes while the session is idle leads to
// a call, whose Read fails.
func TestSessionDeadline(t *testing.T) {
	var reported error
	s := &socket.Server{
		Session: func(c net.Conn) func(ctx context.Context) error {
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			return func(ctx context.Context) error {
				_, err := c.Read(make([]byte, 1))
				return err
			}
		},
		OnError: func(_ net.Conn, err error) { reported = err },
	}
	serving(t, s, func(ctx context.Context, addr string) error {
		c, err := socket.Dial(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer read %v", err)
		}
		if !errors.Is(reported, os.ErrDeadlineExceeded) {
			t.Errorf("reported %v", reported)
		}
		return nil
	})
}

// TestSessionShutdown: Shutdown closes idle sessions at once and lets calls end;
// when its ctx ends, it cancels them.
func TestSessionShutdown(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var open rondo.Event
		began := 0
		s := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				line, err := bufio.NewReader(c).ReadString('\n')
				began++
				if err == nil && line == "stuck\n" {
					_, err = c.Read(make([]byte, 1))
				} else if err == nil {
					err = open.Wait(ctx)
				}
				if err == nil {
					_, err = io.WriteString(c, "done\n")
				}
				return err
			}
		}, OnError: func(_ net.Conn, err error) { t.Errorf("reported: %v", err) }}
		addr, served := start(t, ctx, s)
		var conns []net.Conn
		for range 3 {
			c := connected(t, ctx, s, addr)
			conns = append(conns, c)
		}
		idle, busy, stuck := conns[0], conns[1], conns[2]
		io.WriteString(busy, "x\n")
		io.WriteString(stuck, "stuck\n")
		for began < 2 && rondo.Yield(ctx) == nil { // a call that has not begun is no call yet
		}
		limited, cancel := context.WithCancel(ctx)
		down := rondo.Go(ctx, func(context.Context) error { return s.Shutdown(limited) })
		if _, err := idle.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer of the idle session read %v", err)
		}
		if served.Done() {
			t.Error("Serve has returned during a call")
		}
		open.Set()
		if b, err := io.ReadAll(busy); err != nil || string(b) != "done\n" {
			t.Errorf("the peer of the call read %q, %v", b, err)
		}
		cancel()
		if err := down.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown returned %v", err)
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Errorf("Serve returned %v", err)
		}
		if n, err := stuck.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("the peer of the cancelled call read %d bytes, %v", n, err)
		}
		return nil
	})
}

// TestSessionNil: a Session that returns nil refuses the connection.
func TestSessionNil(t *testing.T) {
	s := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error { return nil }}
	serving(t, s, func(ctx context.Context, addr string) error {
		c, err := socket.Dial(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer read %v", err)
		}
		return nil
	})
}

// inHalves sends the second half of each Write an hour after the first, from when it is slow.
type inHalves struct {
	net.Conn
	ctx  context.Context
	slow bool
}

func (c *inHalves) Write(p []byte) (int, error) {
	if !c.slow {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p[:len(p)/2])
	if err == nil {
		err = rondo.Sleep(c.ctx, time.Hour)
	}
	if err != nil {
		return n, err
	}
	m, err := c.Conn.Write(p[len(p)/2:])
	return n + m, err
}

// TestSessionEndsTasks: a call that has started a task and returns nil ends the task, and the
// connection goes on. A part of a record that has come by then is no reason for the next call.
func TestSessionEndsTasks(t *testing.T) {
	server, user := certificate(t)
	server.SessionTicketsDisabled = true
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		calls, ended := 0, 0
		s := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				calls++
				b := make([]byte, 1)
				if _, err := c.Read(b); err != nil {
					return err
				}
				rondo.Go(ctx, func(ctx context.Context) error {
					defer func() { ended++ }()
					return rondo.WaitCanceled(ctx)
				})
				_, err := c.Write(b)
				return err
			}
		}, OnError: func(_ net.Conn, err error) { t.Errorf("reported: %v", err) }}
		here, there := socket.Pipe(ctx)
		l := &pipes{ctx: ctx, queue: rondo.NewQueue[net.Conn](1), wrap: func(c net.Conn) net.Conn { return socket.TLSServer(ctx, c, server) }}
		l.queue.TryPut(there)
		served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		wire := &inHalves{Conn: here, ctx: ctx}
		c := socket.TLSClient(ctx, wire, user)
		writer := rondo.Go(ctx, func(context.Context) error {
			if _, err := c.Write([]byte("a")); err != nil {
				return err
			}
			wire.slow = true
			_, err := c.Write([]byte("b"))
			return err
		})
		for i, want := range []string{"a", "b"} {
			_ = rondo.Sleep(ctx, time.Minute) // the half of a request has come when the one before it is answered
			b := make([]byte, 1)
			if _, err := c.Read(b); string(b) != want || err != nil {
				t.Errorf("read %q, %v; want %q", b, err, want)
			}
			_ = rondo.Sleep(ctx, time.Minute)
			if calls != i+1 || ended != i+1 {
				t.Errorf("%d requests were answered, and there were %d calls, of which %d have ended their tasks", i+1, calls, ended)
			}
		}
		if err := errors.Join(writer.Wait(ctx), s.Shutdown(ctx)); err != nil {
			t.Error(err)
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
		here.Close()
	})
}

package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
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

// asked sends a line and returns the answer.
func asked(c net.Conn, line string) (string, error) {
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

// gone returns when the server has no connection left.
func gone(ctx context.Context, s *socket.Server) error {
	for s.Conns() > 0 {
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

// idleSessions returns when the task that stands for the idle sessions shows n.
func idleSessions(ctx context.Context, n uint64) {
	for {
		for _, t := range rondo.Tasks(ctx) {
			if t.Waiting == "idle sessions" && t.On == n {
				return
			}
		}
		if rondo.Yield(ctx) != nil {
			return
		}
	}
}

// serving runs body with a server and its address, and shuts the server down.
func serving(t *testing.T, s *socket.Server, body func(ctx context.Context, addr string) error) {
	t.Helper()
	run(t, func(ctx context.Context) error {
		addr, served, err := start(ctx, s)
		if err != nil {
			return err
		}
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

// TestSession: the usual session answers line after line, has no task in
// between, and the end of the stream ends it without a report.
func TestSession(t *testing.T) {
	s := &socket.Server{Session: numbered, OnError: func(_ net.Conn, err error) { t.Errorf("reported: %v", err) }}
	serving(t, s, func(ctx context.Context, addr string) error {
		c, err := connected(ctx, s, addr)
		if err != nil {
			return err
		}
		for i := range 3 {
			line, err := asked(c, "hello")
			if want := fmt.Sprintf("%d hello\n", i+1); err != nil || line != want {
				t.Errorf("got %q, %v, want %q", line, err, want)
			}
			idleSessions(ctx, 1)
			for _, task := range rondo.Tasks(ctx) {
				if strings.HasPrefix(task.Name, "conn ") {
					t.Errorf("an idle session has a task: %v", task)
				}
			}
		}
		c.Close()
		return gone(ctx, s)
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
			c, err := connected(ctx, s, addr)
			if err != nil {
				return err
			}
			defer c.Close()
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

// TestSessionGoexit: Goexit in a call ends everything, and leaves nothing.
func TestSessionGoexit(t *testing.T) {
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_ = rondo.Run(context.Background(), func(ctx context.Context) error {
			s := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
				return func(ctx context.Context) error {
					runtime.Goexit()
					return nil
				}
			}}
			addr, _, err := start(ctx, s)
			if err != nil {
				return err
			}
			idle, err := connected(ctx, s, addr)
			if err != nil {
				return err
			}
			defer idle.Close()
			c, err := connected(ctx, s, addr)
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = asked(c, "x")
			return err
		})
		t.Error("Run returned")
	}()
	<-ended
}

// TestSessionCancelled: a cancellation ends idle sessions and calls, without a
// report.
func TestSessionCancelled(t *testing.T) {
	run(t, func(ctx context.Context) error {
		s := &socket.Server{Session: numbered, OnError: func(_ net.Conn, err error) { t.Errorf("reported: %v", err) }}
		addr, served, err := start(ctx, s)
		if err != nil {
			return err
		}
		idle, err := connected(ctx, s, addr)
		if err != nil {
			return err
		}
		defer idle.Close()
		busy, err := connected(ctx, s, addr)
		if err != nil {
			return err
		}
		defer busy.Close()
		if _, err := io.WriteString(busy, "half a li"); err != nil {
			return err
		}
		waiting(ctx, "read", 1)
		cause := errors.New("cause")
		served.Cancel(cause)
		if err := served.Wait(ctx); !errors.Is(err, cause) {
			t.Errorf("Serve returned %v", err)
		}
		for _, c := range []net.Conn{idle, busy} {
			if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("the peer read %d bytes, %v", n, err)
			}
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
		addr, served, err := start(ctx, s)
		if err != nil {
			return err
		}
		var conns []net.Conn
		for range 3 {
			c, err := connected(ctx, s, addr)
			if err != nil {
				return err
			}
			defer c.Close()
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

// TestSessionMaxConns: idle sessions count, and the end of one lets the next
// connection in.
func TestSessionMaxConns(t *testing.T) {
	s := &socket.Server{Session: numbered, MaxConns: 2}
	serving(t, s, func(ctx context.Context, addr string) error {
		var conns []net.Conn
		for range 4 {
			c, err := socket.Dial(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			defer c.Close()
			conns = append(conns, c)
			io.WriteString(c, "x\n")
		}
		for _, c := range conns {
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "1 x\n" {
				t.Errorf("got %q, %v", line, err)
			}
			if n := s.Conns(); n > 2 {
				t.Errorf("%d connections at once", n)
			}
			c.Close()
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

// TestSessionMisuse: one of Handler and Session must be set, not both.
func TestSessionMisuse(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		both := &socket.Server{Handler: echo, Session: numbered}
		panics(t, "rondo: socket.Server.Serve with a Handler and a Session: set only one of them", func() { both.Serve(ctx, l) })
		panics(t, "rondo: socket.Server.Serve without a Handler: set Handler or Session", func() { new(socket.Server).Serve(ctx, l) })
		return nil
	})
}

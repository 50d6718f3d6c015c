package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// pipes is a listener of connections in memory.
type pipes struct {
	ctx    context.Context
	queue  *rondo.Queue[net.Conn]
	wrap   func(c net.Conn) net.Conn
	closed bool
}

func (l *pipes) Accept() (net.Conn, error) {
	c, err := l.queue.Get(l.ctx)
	if err != nil {
		return nil, net.ErrClosed
	}
	return l.wrap(c), nil
}

func (l *pipes) Close() error {
	if !l.closed {
		l.closed = true
		l.queue.Close()
	}
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// errAsked is the error of a call that was asked to fail.
var errAsked = errors.New("asked to fail")

// commands is a session of lines: "sleep N" sleeps N ms, "fail" fails, and "exit"
// ends the session. Each line is sent back first. One call may serve several.
func commands(rand *rand.Rand) func(c net.Conn) func(ctx context.Context) error {
	return func(c net.Conn) func(ctx context.Context) error {
		r := bufio.NewReaderSize(c, 64)
		return func(ctx context.Context) error {
			_ = c.SetReadDeadline(time.Time{})
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return err
				}
				if _, err := io.WriteString(c, line); err != nil {
					return err
				}
				word, n, _ := strings.Cut(strings.TrimSpace(line), " ")
				switch word {
				case "sleep":
					ms, _ := strconv.Atoi(n)
					err = rondo.Sleep(ctx, time.Duration(ms)*time.Millisecond)
				case "fail":
					err = errAsked
				case "exit":
					err = io.EOF
				case "child":
					// The ctx has been used, so the task must not be used again.
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					err = rondo.Sleep(ctx, time.Millisecond)
				}
				if err != nil || r.Buffered() == 0 && rand.IntN(4) > 0 {
					return err
				}
				if r.Buffered() == 0 {
					_ = rondo.Sleep(ctx, time.Millisecond) // the next line may come meanwhile
					return nil
				}
			}
		}
	}
}

// client sends lines and checks the answers. Its last line may be cut, and an
// error is right once the server is going down.
func client(t *testing.T, ctx context.Context, rand *rand.Rand, c net.Conn, down *bool) error {
	defer c.Close()
	r := bufio.NewReader(c)
	for range rand.IntN(5) {
		var lines []string
		last := false
		for range 1 + rand.IntN(4) {
			kind := []string{"echo", "echo", "echo", "sleep 3", "sleep 20", "child", "fail", "exit"}[rand.IntN(8)]
			lines = append(lines, kind+"\n")
			if last = kind == "fail" || kind == "exit"; last {
				break
			}
		}
		sent := rondo.Async(ctx, func(context.Context) (int, error) { return pieces(ctx, rand, c, strings.Join(lines, "")) })
		for _, line := range lines {
			got, err := r.ReadString('\n')
			if (err != nil || got != line) && !*down {
				t.Errorf("got %q, %v, want %q", got, err, line)
			}
			if err != nil {
				c.Close()
				_, _ = sent.Wait(ctx)
				return nil
			}
		}
		if _, err := sent.Wait(ctx); err != nil && !last && !*down {
			t.Errorf("write: %v", err)
		}
		if last {
			if _, err := r.ReadByte(); err != io.EOF && !*down {
				t.Errorf("after the last line: %v", err)
			}
			return nil
		}
		if err := rondo.Sleep(ctx, time.Duration(rand.IntN(10))*time.Millisecond); err != nil {
			return err
		}
	}
	if rand.IntN(2) == 0 {
		_, _ = pieces(ctx, rand, c, "half a line")
	}
	return nil
}

// pieces writes s in pieces, with pauses.
func pieces(ctx context.Context, rand *rand.Rand, c net.Conn, s string) (int, error) {
	for s != "" {
		n := 1 + rand.IntN(len(s))
		if _, err := io.WriteString(c, s[:n]); err != nil {
			return 0, err
		}
		if s = s[n:]; rand.IntN(2) == 0 {
			if err := rondo.Sleep(ctx, time.Duration(rand.IntN(5))*time.Millisecond); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// TestSessionModel: clients with random requests, in pieces and several at once,
// that end anywhere, against a server that may be shut down or cancelled at any
// moment. All are answered in order, and nothing is left.
func TestSessionModel(t *testing.T) {
	plain := func(c net.Conn) net.Conn { return c }
	sim.Test(t, func(ctx context.Context) { sessionModel(t, ctx, plain, plain) })
}

// TestSessionModelTLS is the same over TLS, where a record may come in pieces
// and have several lines.
func TestSessionModelTLS(t *testing.T) {
	server, user := certificate(t)
	sim.Test(t, func(ctx context.Context) {
		sessionModel(t, ctx,
			func(c net.Conn) net.Conn { return socket.TLSServer(ctx, c, server) },
			func(c net.Conn) net.Conn { return socket.TLSClient(ctx, c, user) })
	})
}

func sessionModel(t *testing.T, ctx context.Context, server, user func(c net.Conn) net.Conn) {
	rand := sim.Rand(ctx)
	down := false
	s := &socket.Server{Session: commands(rand), MaxConns: rand.IntN(4), OnError: func(c net.Conn, err error) {
		if !errors.Is(err, errAsked) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, io.ErrUnexpectedEOF) && !down {
			t.Errorf("reported: %v", err)
		}
	}}
	cause := errors.New("cause")
	l := &pipes{queue: rondo.NewQueue[net.Conn](100), wrap: server}
	served := rondo.Go(ctx, func(ctx context.Context) error {
		l.ctx = ctx
		if err := s.Serve(ctx, l); err != socket.ErrServerClosed && !errors.Is(err, cause) {
			return fmt.Errorf("Serve: %w", err)
		}
		return nil
	})
	end := rondo.Go(ctx, func(ctx context.Context) error {
		if rand.IntN(2) > 0 {
			return nil
		}
		if err := rondo.Sleep(ctx, time.Duration(rand.IntN(60))*time.Millisecond); err != nil {
			return err
		}
		down = true
		if rand.IntN(2) == 0 {
			served.Cancel(cause)
			return nil
		}
		_ = rondo.Timeout(ctx, 5*time.Millisecond, s.Shutdown)
		return nil
	})
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		for range 1 + rand.IntN(6) {
			here, there := socket.Pipe(ctx)
			if !l.queue.TryPut(there) {
				here.Close()
				there.Close()
				continue
			}
			g.Go(func(ctx context.Context) error {
				// A connection that nobody accepts has no end of its own.
				return rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error {
					return client(t, ctx, rand, user(here), &down)
				})
			})
		}
		return nil
	})
	if err != nil && !down {
		t.Error(err)
	}
	_ = end.Wait(ctx)
	down = true
	_ = s.Shutdown(ctx)
	if err := served.Wait(ctx); err != nil && !errors.Is(err, cause) {
		t.Error(err)
	}
	if n := s.Conns(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

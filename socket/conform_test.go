package socket_test

// What asyncio's streams and servers promise, on a connection and package bufio.
// Where it is not the same, the comment says how it differs.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// spoken returns a connection from which text can be read, and then the end.
func spoken(t testing.TB, ctx context.Context, text string) *socket.Conn {
	t.Helper()
	a, b := pair(t, ctx)
	if _, err := io.WriteString(a, text); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestC170ReadLine: if nothing ends the last line, io.EOF comes with it; else
// alone, after it. A Scanner has asyncio's order: the line, and then the end.
func TestC170ReadLine(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r := bufio.NewReader(spoken(t, ctx, "line1\nline2"))
		for i, want := range []struct {
			line string
			err  error
		}{{"line1\n", nil}, {"line2", io.EOF}, {"", io.EOF}} {
			if line, err := r.ReadString('\n'); line != want.line || err != want.err {
				t.Errorf("line %d is %q, %v", i+1, line, err)
			}
		}
		s := bufio.NewScanner(spoken(t, ctx, "line1\nline2"))
		for _, want := range []string{"line1", "line2"} {
			if !s.Scan() || s.Text() != want {
				t.Errorf("scanned %q, want %q", s.Text(), want)
			}
		}
		if s.Scan() || s.Err() != nil {
			t.Errorf("at the end: %q, %v", s.Text(), s.Err())
		}
		return nil
	})
}

// TestC171ReadFull: readexactly is io.ReadFull, and IncompleteReadError
// io.ErrUnexpectedEOF, with what there was in the buffer.
func TestC171ReadFull(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c := spoken(t, ctx, "four")
		p := make([]byte, 10)
		if n, err := io.ReadFull(c, p); n != 4 || err != io.ErrUnexpectedEOF || string(p[:n]) != "four" {
			t.Errorf("ReadFull: %q, %v", p[:n], err)
		}
		if n, err := io.ReadFull(c, p); n != 0 || err != io.EOF {
			t.Errorf("again: %d, %v", n, err)
		}
		return nil
	})
}

// TestC172Limits: a line that is longer than the limit. Reader.ReadSlice
// returns what fits, with bufio.ErrBufferFull, and the rest can be read;
// ReadLine reports that there is more; Peek leaves it in place. A Scanner ends
// with bufio.ErrTooLong. None of them drops the line and goes on, as asyncio's
// readline does.
func TestC172Limits(t *testing.T) {
	long := strings.Repeat("x", 40) + "\nnext\n"
	run(t, func(ctx context.Context) error {
		r := bufio.NewReaderSize(spoken(t, ctx, long), 16)
		if p, err := r.Peek(17); err != bufio.ErrBufferFull || len(p) != 16 || r.Buffered() != 16 {
			t.Errorf("Peek: %q, %v", p, err)
		}
		if p, err := r.ReadSlice('\n'); err != bufio.ErrBufferFull || len(p) != 16 {
			t.Errorf("ReadSlice: %q, %v", p, err)
		}
		if p, more, err := r.ReadLine(); len(p) != 16 || !more || err != nil {
			t.Errorf("ReadLine: %q, %v, %v", p, more, err)
		}
		if p, more, err := r.ReadLine(); len(p) != 8 || more || err != nil {
			t.Errorf("the rest: %q, %v, %v", p, more, err)
		}
		if line, err := r.ReadString('\n'); line != "next\n" || err != nil {
			t.Errorf("the next line is %q, %v", line, err)
		}
		s := bufio.NewScanner(spoken(t, ctx, long))
		s.Buffer(nil, 16)
		if s.Scan() || s.Err() != bufio.ErrTooLong {
			t.Errorf("scanned %q, %v", s.Text(), s.Err())
		}
		return nil
	})
}

// TestC173TwoReaders: unlike in asyncio there is no error: further readers wait
// for their turn, and get bytes in the order in which they came. (A bufio.Reader
// is for one task, like anything without a lock.)
func TestC173TwoReaders(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		got := make([]string, 4)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range got {
				g.Go(func(context.Context) error {
					p := make([]byte, 1)
					_, err := b.Read(p)
					got[i] = string(p)
					return err
				})
			}
			waiting(g, "read", 1)
			waiting(g, "turn", len(got)-1)
			_, err := io.WriteString(a, "1234")
			return err
		})
		if strings.Join(got, "") != "1234" {
			t.Errorf("they have read %q", got)
		}
		return err
	})
}

// TestC174ReadAhead: nothing is read before it is asked for, so there is
// nothing to pause: a Reader holds one buffer at most, and the writer waits
// when the system has no room.
func TestC174ReadAhead(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		const size = 64 << 20
		wrote := rondo.Async(ctx, func(context.Context) (int, error) {
			n, err := a.Write(longText(size))
			return n, errors.Join(err, a.CloseWrite())
		})
		r := bufio.NewReaderSize(b, 1000)
		if _, err := r.ReadByte(); err != nil {
			return err
		}
		waiting(ctx, "write", 1)
		if wrote.Done() || r.Buffered() > 999 {
			t.Errorf("%d bytes are buffered, and it is %v that all was written", r.Buffered(), wrote.Done())
		}
		n, err := io.Copy(io.Discard, r)
		if n != size-1 || err != nil {
			t.Errorf("%d bytes came, %v", n, err)
		}
		_, err = wrote.Wait(ctx)
		return err
	})
}

// TestC176PeerGone: a Write to a peer that is gone fails.
func TestC176PeerGone(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		if err := b.Close(); err != nil {
			return err
		}
		var err error
		for err == nil {
			_, err = io.WriteString(a, "anybody?")
		}
		if !isAny(err, peerGone) {
			t.Errorf("Write returned %v", err)
		}
		if _, again := io.WriteString(a, "anybody?"); !isAny(again, peerGone) {
			t.Errorf("the next Write returned %v", again)
		}
		return nil
	})
}

// TestC177HandlerPanics: with Recover, a handler that panics is reported once, its
// connection is closed, and the server goes on.
func TestC177HandlerPanics(t *testing.T) {
	var reported []error
	r := rondo.Runner{Recover: true}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		s := &socket.Server{
			Handler: func(ctx context.Context, c net.Conn) error {
				if len(reported) == 0 {
					panic("oh")
				}
				return echo(ctx, c)
			},
			OnError: func(_ net.Conn, err error) { reported = append(reported, err) },
		}
		addr, _ := start(t, ctx, s)
		for i, want := range []string{"", "hello"} {
			c, err := socket.Dial(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			if want != "" {
				if _, err := io.WriteString(c, want); err != nil {
					return err
				}
				if err := c.(*socket.Conn).CloseWrite(); err != nil {
					return err
				}
			}
			if got, err := io.ReadAll(c); string(got) != want || err != nil {
				t.Errorf("connection %d: %q, %v", i, got, err)
			}
			c.Close()
		}
		return s.Shutdown(ctx)
	})
	var p *rondo.PanicError
	if err != nil && !errors.Is(err, socket.ErrServerClosed) || len(reported) != 1 || !errors.As(reported[0], &p) {
		t.Errorf("Run returned %v; reported %v", err, reported)
	}
}

// TestC178Shutdown: an open connection goes on while its server is shut down, by a task or a
// goroutine. No new one is accepted, and Shutdown waits for it.
func TestC178Shutdown(t *testing.T) {
	for _, shutDown := range []func(ctx context.Context, s *socket.Server) error{
		func(ctx context.Context, s *socket.Server) error { return s.Shutdown(ctx) },
		func(ctx context.Context, s *socket.Server) error {
			return outside(ctx, func() error { return s.Shutdown(context.Background()) })
		},
	} {
		run(t, func(ctx context.Context) error {
			s := &socket.Server{Handler: echo}
			addr, served := start(t, ctx, s)
			c := connected(t, ctx, s, addr)
			down := rondo.Go(ctx, func(ctx context.Context) error { return shutDown(ctx, s) })
			var err error
			for err == nil {
				var extra net.Conn
				if extra, err = socket.Dial(ctx, "tcp", addr); err == nil {
					extra.Close()
				}
			}
			if !isAny(err, refused) && !isAny(err, peerReset) {
				t.Errorf("Dial during Shutdown: %v", err)
			}
			for i := range 3 {
				text := fmt.Sprint("still here ", i)
				if _, err := io.WriteString(c, text); err != nil {
					return err
				}
				p := make([]byte, len(text))
				if _, err := io.ReadFull(c, p); string(p) != text {
					t.Errorf("got %q, %v", p, err)
				}
			}
			if down.Done() || served.Done() {
				t.Error("the server has ended before its connection")
			}
			c.Close()
			if err := served.Wait(ctx); err != socket.ErrServerClosed || s.Conns() != 0 {
				t.Errorf("Serve returned %v, and %d connections are left", err, s.Conns())
			}
			return down.Wait(ctx)
		})
	}
}

// TestC180ServeCancelled: when a cancelled Serve returns it has closed its
// listener and waited for its handlers.
func TestC180ServeCancelled(t *testing.T) {
	run(t, func(ctx context.Context) error {
		ended := 0
		s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
			err := echo(ctx, c)
			_ = rondo.Shield(ctx, rondo.Yield)
			ended++
			return err
		}}
		addr, served := start(t, ctx, s)
		for range 3 {
			connected(t, ctx, s, addr)
		}
		cause := errors.New("enough")
		served.Cancel(cause)
		if err := served.Wait(ctx); !errors.Is(err, cause) {
			t.Errorf("Serve returned %v", err)
		}
		if ended != 3 || s.Conns() != 0 {
			t.Errorf("%d handlers have ended, %d connections are left", ended, s.Conns())
		}
		if _, err := socket.Dial(ctx, "tcp", addr); err == nil {
			t.Error("it still listens")
		}
		return nil
	})
}

package socket_test

// Connections of the program's own: their methods may wait, change their answers, or panic.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// wrapping is a listener whose connections wrap makes.
type wrapping struct {
	net.Listener
	wrap func(c net.Conn) net.Conn
}

func (l wrapping) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(c), nil
}

// serveWrapped serves connections that wrap makes with s, while body runs with the address.
func serveWrapped(t *testing.T, s *socket.Server, wrap func(c net.Conn) net.Conn, body func(ctx context.Context, address string) error) {
	t.Helper()
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return s.Serve(ctx, wrapping{l, wrap}) })
			err := body(g, l.Addr().String())
			g.Cancel(nil)
			return err
		})
	})
}

// ask dials, sends request, and returns the line that comes back.
func ask(ctx context.Context, address, request string) (string, error) {
	c, err := socket.Dial(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

// proxied is a connection whose first line says who the client is. It is read when the address is
// asked for, as libraries of the PROXY protocol do.
type proxied struct {
	net.Conn
	once sync.Once
	in   *bufio.Reader
	addr net.Addr
}

func (c *proxied) header() {
	c.once.Do(func() {
		c.in = bufio.NewReader(c.Conn)
		line, _ := c.in.ReadString('\n')
		c.addr, _ = net.ResolveTCPAddr("tcp", strings.TrimSpace(line))
	})
}

func (c *proxied) RemoteAddr() net.Addr {
	if c.header(); c.addr != nil {
		return c.addr
	}
	return c.Conn.RemoteAddr()
}

func (c *proxied) Read(p []byte) (int, error) {
	c.header()
	return c.in.Read(p)
}

// TestAddressThatWaits: a client that does not say who it is holds up nobody else.
func TestAddressThatWaits(t *testing.T) {
	s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
		if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c, "%v, %s\n", c.RemoteAddr(), rondo.Current(ctx).Name())
		return err
	}, OnError: func(net.Conn, error) {}} // of the silent one
	serveWrapped(t, s, func(c net.Conn) net.Conn { return &proxied{Conn: c} }, func(ctx context.Context, address string) error {
		silent, err := socket.Dial(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer silent.Close()
		if err := until(ctx, func() bool { return s.Stats().Open == 1 }); err != nil {
			return err
		}
		line, err := ask(ctx, address, "10.1.2.3:55\nping")
		if line != "10.1.2.3:55, conn 10.1.2.3:55\n" {
			t.Errorf("the answer is %q", line)
		}
		return err
	})
}

// odd is a connection with methods of a test.
type odd struct {
	net.Conn
	addr  func() net.Addr
	close func()
}

func (c *odd) RemoteAddr() net.Addr { return c.addr() }

func (c *odd) Close() error {
	err := c.Conn.Close()
	c.close()
	return err
}

func nothing() {}

// TestNoAddress: a connection need not have an address.
func TestNoAddress(t *testing.T) {
	s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
		_, err := fmt.Fprintln(c, rondo.Current(ctx).Name())
		return err
	}}
	serveWrapped(t, s, func(c net.Conn) net.Conn { return &odd{c, func() net.Addr { return nil }, nothing} }, func(ctx context.Context, address string) error {
		line, err := ask(ctx, address, "")
		if line != "conn\n" {
			t.Errorf("the task is called %q", line)
		}
		return err
	})
}

// TestAddressThatChanges: the place of an address is given up for the one that was counted.
func TestAddressThatChanges(t *testing.T) {
	s := &socket.Server{Limits: socket.Limits{ConnsPerAddr: 1}, Handler: func(ctx context.Context, c net.Conn) error {
		c.(*odd).addr = func() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 55} }
		_, err := fmt.Fprintln(c, "hello")
		return err
	}}
	serveWrapped(t, s, func(c net.Conn) net.Conn { return &odd{c, c.RemoteAddr, nothing} }, func(ctx context.Context, address string) error {
		for range 2 {
			if line, err := ask(ctx, address, ""); line != "hello\n" {
				t.Errorf("the answer is %q, %v", line, err)
			}
			if err := until(ctx, func() bool { return s.Stats().Open == 0 }); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestCloseThatPanics: it is reported, and the Server goes on.
func TestCloseThatPanics(t *testing.T) {
	var reported []error
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = append(reported, err) }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		l := listen(t, ctx)
		s := &socket.Server{MaxConns: 1, Handler: func(ctx context.Context, c net.Conn) error {
			_, err := fmt.Fprintln(c, "hello")
			return err
		}}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				return s.Serve(ctx, wrapping{l, func(c net.Conn) net.Conn { return &odd{c, c.RemoteAddr, func() { panic("close") }} }})
			})
			for range 2 {
				if line, err := ask(g, l.Addr().String(), ""); line != "hello\n" {
					t.Errorf("the answer is %q, %v", line, err)
				}
			}
			err := until(g, func() bool { return s.Stats().Open == 0 })
			g.Cancel(nil)
			return err
		})
	})
	if err != nil || len(reported) != 2 || !strings.Contains(fmt.Sprint(reported), "Close of a connection") {
		t.Errorf("Run: %v; reported %v", err, reported)
	}
}

// TestAttachAfterTheScope: Attach with a ctx that looks open, of a scope that has ended, panics
// each time, as Go does.
func TestAttachAfterTheScope(t *testing.T) {
	run(t, func(ctx context.Context) error {
		p := &socket.Protocol{}
		var ended context.Context
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			ended = context.WithoutCancel(g)
			return nil
		})
		for range 2 {
			a, _ := pair(t, ctx)
			func() {
				defer func() {
					if v := recover(); !strings.Contains(fmt.Sprint(v), "a scope that has ended") {
						t.Errorf("panic %v", v)
					}
				}()
				_, err := p.Attach(ended, a)
				t.Errorf("Attach returned %v", err)
			}()
		}
		return err
	})
}

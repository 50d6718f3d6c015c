//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/poll"
	"github.com/rondo-go/rondo/socket"
)

// A countingPoller counts what is asked of the real driver about descriptors. Each
// Arm that is not a repetition and each Disarm is a system call.
type countingPoller struct {
	driver.Driver
	arms, disarms, forgets int
}

func (p *countingPoller) Poller() driver.Poller { return p }

func (p *countingPoller) Arm(fd uintptr, want driver.Events, s driver.Sink) error {
	p.arms++
	return p.Driver.Poller().Arm(fd, want, s)
}

func (p *countingPoller) Disarm(fd uintptr, which driver.Events) {
	p.disarms++
	p.Driver.Poller().Disarm(fd, which)
}

func (p *countingPoller) Forget(fd uintptr) {
	p.forgets++
	p.Driver.Poller().Forget(fd)
}

// TestShortConnectionArmsOnce: an accepted connection is registered with the driver
// at most once, and its end is no call to the driver's kernel part, whichever way it
// is served.
func TestShortConnectionArmsOnce(t *testing.T) {
	const conns = 20
	echo := func(_ context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}
	exchange := func(c net.Conn) func(context.Context) error {
		return func(context.Context) error {
			var b [64]byte
			n, err := c.Read(b[:])
			if err == nil {
				_, err = c.Write(b[:n])
			}
			return err
		}
	}
	protocol := &socket.Protocol{Data: func(tr *socket.Transport, b []byte) { _, _ = tr.Write(b) }}
	for name, serve := range map[string]func(ctx context.Context, l net.Listener) error{
		"Handler":  (&socket.Server{Handler: echo}).Serve,
		"Session":  (&socket.Server{Session: exchange}).Serve,
		"Protocol": protocol.Serve,
	} {
		t.Run(name, func(t *testing.T) {
			var p *countingPoller
			ctx := driver.With(context.Background(), func() (driver.Driver, error) {
				d, err := poll.Open()
				p = &countingPoller{Driver: d}
				return p, err
			})
			err := rondo.Run(ctx, func(ctx context.Context) error {
				l := listen(t, ctx)
				address := l.Addr().String()
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error {
						if err := serve(ctx, l); !errors.Is(err, net.ErrClosed) {
							return err
						}
						return nil
					})
					defer l.Close()
					_, err := rondo.Offload(g, func(context.Context) (any, error) { return nil, askShortly(address, conns) })
					return err
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			// The listener has one of each.
			if p.arms > conns+1 || p.disarms > 1 || p.forgets > conns {
				t.Errorf("%d connections took %d calls of Arm, %d of Disarm, %d of Forget", conns, p.arms, p.disarms, p.forgets)
			}
		})
	}
}

// askShortly opens connections one after the other, with one request each.
func askShortly(address string, conns int) error {
	for range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("hello"))
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, 5))
		}
		if err == nil {
			err = c.(*net.TCPConn).CloseWrite()
		}
		if err == nil {
			_, err = io.Copy(io.Discard, c)
		}
		if err = errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	return nil
}

//go:build !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestListenerMadeBlocking: another process that shares a listening socket makes it
// blocking, as os.File.Fd does, and takes the connection for which a task was woken.
// Its Accept goes on waiting, and does not stop the loop.
func TestListenerMadeBlocking(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		shared, err := l.File() // what the other process has
		if err != nil {
			return err
		}
		defer shared.Close()
		other := int(shared.Fd())
		accepting, err := woken(t, ctx, l, func() error {
			taken, _, err := syscall.Accept(other)
			if err != nil {
				return err
			}
			return errors.Join(syscall.Close(taken), syscall.SetNonblock(other, false))
		})
		if err != nil {
			return err
		}
		if err := rondo.Yield(ctx); err != nil { // here Accept finds nothing
			return err
		}
		if accepting.Done() {
			t.Error("Accept has returned, without a connection")
		}
		second, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer second.Close()
		c, err := accepting.Wait(ctx)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// woken returns an Accept of l that was woken for a connection. Between this and its next step
// then was called, by a task that data woke just before.
func woken(t *testing.T, ctx context.Context, l net.Listener, then func() error) (*rondo.Future[net.Conn], error) {
	a, b := pair(t, ctx)
	for {
		accepting := rondo.Async(ctx, func(context.Context) (net.Conn, error) { return l.Accept() })
		before := false
		first := rondo.Go(ctx, func(context.Context) error {
			if _, err := a.Read(make([]byte, 1)); err != nil {
				return err
			}
			if before = accepting.Task().Info().State == "ready"; before {
				return then()
			}
			return nil
		})
		waiting(ctx, "accept", 1)
		waiting(ctx, "read", 1)
		if _, err := b.Write([]byte("x")); err != nil {
			return nil, err
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		if err := errors.Join(c.Close(), first.Wait(ctx)); err != nil || before {
			return accepting, err
		}
		taken, err := accepting.Wait(ctx)
		if err != nil {
			return nil, err
		}
		if err := taken.Close(); err != nil {
			return nil, err
		}
	}
}

//go:build !rondo_portable

package socket_test

import (
	"context"
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
		accepting, err := woken(ctx, l)
		if err != nil {
			return err
		}
		taken, _, err := syscall.Accept(other)
		if err != nil {
			return err
		}
		defer syscall.Close(taken)
		if err := syscall.SetNonblock(other, false); err != nil {
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

// woken returns an Accept of l that was woken for a connection and has not run since.
func woken(ctx context.Context, l net.Listener) (*rondo.Future[net.Conn], error) {
	defer yieldBeside(ctx)()
	for {
		accepting := rondo.Async(ctx, func(context.Context) (net.Conn, error) { return l.Accept() })
		waiting(ctx, "accept", 1)
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		if err := c.Close(); err != nil {
			return nil, err
		}
		for !accepting.Done() {
			if accepting.Task().Info().State == "ready" {
				return accepting, nil
			}
			if err := rondo.Yield(ctx); err != nil {
				return nil, err
			}
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

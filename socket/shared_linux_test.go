//go:build !rondo_portable

package socket_test

import (
	"context"
	"net"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestListenerMadeBlocking: another process that shares a listening socket makes it
// blocking, as os.File.Fd does, and takes the connection for which a task was woken.
// Its Accept goes on waiting, and does not stop the loop.
func TestListenerMadeBlocking(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		shared, err := l.File() // what the other process has
		if err != nil {
			return err
		}
		defer shared.Close()
		other := int(shared.Fd())
		accepting := rondo.Async(ctx, func(context.Context) (net.Conn, error) { return l.Accept() })
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		first, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer first.Close()
		for accepting.Task().Info().State != "ready" {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
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

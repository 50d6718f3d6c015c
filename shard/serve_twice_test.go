package shard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// TestServeShutdownTwice: a second Shutdown does not cut short the end that the first has
// begun.
func TestServeShutdownTwice(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		s := &socket.Server{Handler: func(_ context.Context, c net.Conn) error {
			_, err := io.Copy(c, c)
			return err
		}}
		var clients sync.WaitGroup
		serve(t, 2, shard.ServeConfig{Listen: socket.ListenConfig{ReusePort: reuse}}, s, func(address string) {
			enough := make(chan bool, 1)
			for range 20 {
				clients.Go(func() {
					for {
						c, err := net.Dial("tcp", address)
						if err != nil {
							return
						}
						if err := echo(c); err != nil {
							t.Errorf("reuse %v: %v", reuse, err)
							return
						}
						select {
						case enough <- true:
						default:
						}
					}
				})
			}
			<-enough
			for range 3 {
				clients.Go(func() { _ = s.Shutdown(t.Context()) })
			}
		})
		clients.Wait()
	}
}

// TestServeListenerOfOther: a listener of another shard is refused.
func TestServeListenerOfOther(t *testing.T) {
	s := &socket.Server{Handler: func(context.Context, net.Conn) error { return nil }}
	onFirst(t, 2, func(ctx context.Context, me *shard.Shard) error {
		l, err := shard.Call(ctx, me.At(1), func(ctx context.Context) (*socket.Listener, error) {
			return socket.Listen(ctx, "tcp", "127.0.0.1:0")
		})
		if err != nil {
			return err
		}
		err = new(shard.ServeConfig).ServeListener(ctx, l, s)
		if err == nil || !strings.Contains(err.Error(), "the Listener belongs to another loop") {
			t.Errorf("ServeListener: %v", err)
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
		return rondo.Check(ctx)
	})
}

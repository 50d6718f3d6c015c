//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable && !race

package socket_test

// Under the race detector a sync.Pool forgets at random, on purpose.

import (
	"context"
	"io"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

// TestProtocolAllocates: an exchange on a connection allocates nothing.
func TestProtocolAllocates(t *testing.T) {
	run(t, func(ctx context.Context) error {
		tr, peer := attached(t, ctx, &socket.Protocol{Data: func(tr *socket.Transport, b []byte) { tr.Write(b) }})
		defer tr.Abort()
		b := make([]byte, 100)
		n := testing.AllocsPerRun(200, func() {
			peer.Write(b)
			io.ReadFull(peer, b)
		})
		if n > 0 {
			t.Errorf("%v allocations", n)
		}
		return nil
	})
}

package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

// TestProtocolLimit: a program that ignores PauseWriting has at most Limit bytes
// in the buffer. The Write that would exceed it aborts the connection, and the
// same error is that of the Write, of later ones and of Lost.
func TestProtocolLimit(t *testing.T) {
	run(t, func(ctx context.Context) error {
		const limit = 100_000
		tr, _ := attached(t, ctx, noted(t, &socket.Protocol{Limit: limit}))
		var first error
		for first == nil {
			_, first = tr.Write(make([]byte, 30_000))
			if tr.Buffered() > limit {
				t.Fatalf("%d bytes are buffered", tr.Buffered())
			}
		}
		if _, named := errors.AsType[*net.OpError](first); !named || !errors.Is(first, socket.ErrSlowPeer) {
			t.Errorf("Write failed with %v", first)
		}
		if _, err := tr.Write([]byte("x")); err != first {
			t.Errorf("a later Write failed with %v", err)
		}
		h := tr.Value.(*history)
		if err := until(ctx, h.lost); err != nil {
			return err
		}
		if h.err != first {
			t.Errorf("Lost with %v", h.err)
		}
		return nil
	})
}

// TestProtocolLimitReached: exactly Limit bytes are no error, and a peer that
// reads gets all of them.
func TestProtocolLimitReached(t *testing.T) {
	run(t, func(ctx context.Context) error {
		const limit = 100_000
		tr, peer := attached(t, ctx, noted(t, &socket.Protocol{Limit: limit}))
		sent := 0
		for tr.Buffered() == 0 {
			n, err := tr.Write(make([]byte, 30_000))
			if err != nil {
				return err
			}
			sent += n
		}
		n, err := tr.Write(make([]byte, limit-tr.Buffered()))
		if err != nil || tr.Buffered() != limit {
			t.Errorf("%d buffered, %v", tr.Buffered(), err)
		}
		tr.Close()
		if got, err := io.Copy(io.Discard, peer); got != int64(sent+n) || err != nil {
			t.Errorf("%d bytes of %d, %v", got, sent+n, err)
		}
		return peer.Close()
	})
}

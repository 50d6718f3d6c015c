//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

// TestProtocolCloseUnread: the peer gets all that was sent before Close, also if
// what it had sent itself was never read.
func TestProtocolCloseUnread(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		run(t, func(ctx context.Context) error {
			for range 20 {
				a, peer := pairOf(t, ctx, network)
				p := noted(t, &socket.Protocol{})
				tr, err := p.Attach(ctx, a)
				if err != nil {
					return err
				}
				tr.Value = &history{t: t}
				tr.PauseReading()
				if _, err := peer.Write(make([]byte, 50_000)); err != nil {
					return err
				}
				answer := bytes.Repeat([]byte("answer"), 5_000)
				if _, err := tr.Write(answer); err != nil {
					return err
				}
				tr.Close()
				if err := until(ctx, tr.Value.(*history).lost); err != nil {
					return err
				}
				if got, err := io.ReadAll(peer); !bytes.Equal(got, answer) || err != nil {
					t.Fatalf("%s: the peer got %d bytes of %d, then %v", network, len(got), len(answer), err)
				}
				peer.Close()
			}
			return nil
		})
	}
}

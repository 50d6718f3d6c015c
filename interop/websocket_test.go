package interop_test

// gobwas/ws in tasks: its server and its client use neither goroutines nor
// channels. If several tasks write to one connection they need a lock: a frame is
// two Writes, and another task may run between them.

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/interop/internal/peer"
)

// A room sends every text of one of its members to all of them. Its map needs no
// lock, but each of the connections does.
type room struct{ members map[net.Conn]*rondo.Mutex }

func (r *room) serve(ctx context.Context, c net.Conn) error {
	if _, err := ws.Upgrade(c); err != nil {
		return err
	}
	r.members[c] = new(rondo.Mutex)
	defer delete(r.members, c)
	for {
		text, err := wsutil.ReadClientText(c)
		if _, ok := err.(wsutil.ClosedError); ok {
			return nil // the closing handshake is done
		}
		if err != nil {
			return err
		}
		for member, writing := range r.members {
			if err := writing.Lock(ctx); err != nil {
				return err
			}
			err := wsutil.WriteServerText(member, text)
			writing.Unlock()
			if err != nil {
				return err
			}
		}
	}
}

// TestWebSocket: 20 members receive each other's texts.
func TestWebSocket(t *testing.T) {
	const members = 20
	run(t, func(ctx context.Context) error {
		r := &room{make(map[net.Conn]*rondo.Mutex)}
		err := serving(t, ctx, r.serve, func(ctx context.Context, address string) error {
			dialer := ws.Dialer{NetDial: socketDial(ctx)}
			return all(ctx, members, func(ctx context.Context, i int) error {
				c, early, _, err := dialer.Dial(ctx, "ws://"+address)
				if err != nil {
					return err
				}
				defer c.Close()
				// The first texts may come with the answer to the handshake.
				in := struct {
					io.Reader
					io.Writer
				}{c, c}
				if early != nil {
					in.Reader = early
				}
				for len(r.members) < members {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				own := strings.Repeat(fmt.Sprintf("%02d ", i), 1000)
				if err := wsutil.WriteClientText(c, []byte(own)); err != nil {
					return err
				}
				heard := make(map[string]bool)
				for range members {
					text, err := wsutil.ReadServerText(in)
					if err != nil {
						return err
					}
					heard[string(text)] = true
				}
				if len(heard) != members || !heard[own] {
					t.Errorf("member %d received %d different texts", i, len(heard))
				}
				if err := ws.WriteFrame(c, ws.MaskFrame(ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusNormalClosure, "")))); err != nil {
					return err
				}
				_, err = wsutil.ReadServerText(in)
				if end, ok := err.(wsutil.ClosedError); !ok || end.Code != ws.StatusNormalClosure {
					t.Errorf("the end is %v", err)
				}
				return nil
			})
		})
		if len(r.members) > 0 {
			t.Errorf("%d members are left", len(r.members))
		}
		return err
	})
}

// TestWebSocketCurl: curl does the handshake.
func TestWebSocketCurl(t *testing.T) {
	curl := peer.Need(t, "curl")
	run(t, func(ctx context.Context) error {
		once := func(_ context.Context, c net.Conn) error {
			_, err := ws.Upgrade(c)
			return err
		}
		return serving(t, ctx, once, func(ctx context.Context, address string) error {
			// The key and its answer are the example of RFC 6455, 1.3.
			out, err := command(ctx, nil, curl, "-sSi", "--http1.1", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket",
				"-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "http://"+address)
			if !strings.HasPrefix(out, "HTTP/1.1 101 ") || !strings.Contains(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") {
				t.Errorf("curl got %q", out)
			}
			_ = err // curl says that the server hung up
			return nil
		})
	})
}

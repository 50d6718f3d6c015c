package socket_test

import (
	"context"
	"io"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestProtocolResumeWriting: it is called once the peer has read what was buffered, but not
// if the program has ended its side meanwhile: it can write no more.
func TestProtocolResumeWriting(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(tr *socket.Transport)
		want int
	}{
		{"open", func(*socket.Transport) {}, 1},
		{"CloseWrite", (*socket.Transport).CloseWrite, 0},
		{"Close", (*socket.Transport).Close, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			paused, resumed := 0, 0
			p := &socket.Protocol{
				PauseWriting:  func(*socket.Transport) { paused++ },
				ResumeWriting: func(*socket.Transport) { resumed++ },
			}
			run(t, func(ctx context.Context) error {
				tr, peer := attached(t, ctx, p)
				defer peer.Close()
				defer tr.Abort()
				written := int64(0)
				for paused == 0 {
					n, err := tr.Write(make([]byte, 1<<20))
					written += int64(n)
					if err != nil {
						return err
					}
				}
				test.end(tr)
				if _, err := io.CopyN(io.Discard, peer, written); err != nil {
					return err
				}
				for resumed < test.want || tr.Buffered() > 0 {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			if paused != 1 || resumed != test.want {
				t.Errorf("paused %d times, resumed %d times, not %d", paused, resumed, test.want)
			}
		})
	}
}

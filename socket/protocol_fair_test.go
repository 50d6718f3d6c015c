package socket_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestProtocolFair: connections of a Protocol that all have input take turns with the
// tasks of the loop: 16 visits and 256 KiB at a time, as a task has. While a task yields
// there are two such times at most.
func TestProtocolFair(t *testing.T) {
	const conns = 100
	for _, test := range []struct {
		name string
		sent int // to each connection
	}{{"visits", 100}, {"bytes", 64 << 10}} {
		t.Run(test.name, func(t *testing.T) {
			visits, bytes := 0, 0
			p := &socket.Protocol{
				Connected: func(tr *socket.Transport) { tr.PauseReading() },
				Data: func(_ *socket.Transport, b []byte) {
					visits++
					bytes += len(b)
				},
			}
			run(t, func(ctx context.Context) error {
				var all []*socket.Transport
				err := rondo.Group(ctx, func(g *rondo.Scope) error {
					for range conns {
						tr, peer := attached(t, ctx, p)
						all = append(all, tr)
						g.Go(func(context.Context) error {
							_, err := peer.Write(make([]byte, test.sent))
							return err
						})
					}
					// Each has called Connected when another callback has run behind it.
					for range conns {
						if err := rondo.Yield(g); err != nil {
							return err
						}
					}
					for _, tr := range all {
						tr.ResumeReading()
					}
					for bytes < conns*test.sent {
						before, had := visits, bytes
						if err := rondo.Yield(g); err != nil {
							return err
						}
						if visits-before > 2*16 || bytes-had > 2*(256<<10+64<<10) {
							t.Errorf("%d visits and %d bytes in one turn", visits-before, bytes-had)
							return errors.New("unfair")
						}
					}
					return nil
				})
				for _, tr := range all {
					tr.Abort()
				}
				return err
			})
		})
	}
}

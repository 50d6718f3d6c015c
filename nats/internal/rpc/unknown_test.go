package rpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/rpc"
)

// TestUnknown: a worker refuses a message of a kind that it does not know, and does not run
// it; a caller that gets one waits on for its answer.
func TestUnknown(t *testing.T) {
	calmly(t, func(g *rondo.Scope, n *network, e *rpc.Endpoint) error {
		other, runs := n.host(), 0
		err := e.Serve(g, "f", 1, func(context.Context, map[string][]string, []byte) ([]byte, error) { runs++; return nil, nil }, func() {})
		if err != nil {
			return err
		}
		var got []rpc.Kind
		if _, err := other.Subscribe(g, "replies", "", func(m rpc.Message) { got = append(got, m.Kind) }); err != nil {
			return err
		}
		if err := other.Publish(g, rpc.Message{Subject: "f", Reply: "replies", Kind: rpc.Unknown}); err != nil {
			return err
		}
		if err := rondo.Sleep(g, time.Second); err != nil {
			return err
		}
		if runs != 0 || len(got) != 1 || got[0] != rpc.Refused {
			t.Errorf("it ran %d times, and the replies are of the kinds %v", runs, got)
		}
		_, err = other.Subscribe(g, "slow", "slow", func(m rpc.Message) {
			for _, k := range []rpc.Kind{rpc.Unknown, rpc.Answer} {
				g.Go(func(ctx context.Context) error {
					if err := rondo.Sleep(ctx, time.Duration(k)*time.Microsecond); err != nil {
						return err
					}
					if k == rpc.Answer {
						if err := rondo.Sleep(ctx, time.Second); err != nil {
							return err
						}
					}
					return other.Publish(ctx, rpc.Message{Subject: m.Reply, Kind: k, Data: []byte("late")})
				})
			}
		})
		if err != nil {
			return err
		}
		if data, err := e.Call(g, "slow", nil, nil, false); string(data) != "late" {
			t.Errorf("the call returned %q, %v", data, err)
		}
		return nil
	})
}

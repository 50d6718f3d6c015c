package nats

import (
	"context"
	"runtime"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
)

// TestGapReports: messages that Handle drops are reported one report at a time, and none is
// under way when the connection has ended.
func TestGapReports(t *testing.T) {
	f := newFake(t)
	begun, release := make(chan bool, 10), make(chan bool)
	returned := false
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := Connect(g, f.url(), natsgo.PingInterval(-1), natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {
				begun <- true
				<-release
				returned = true
			}))
			if err != nil {
				return err
			}
			if err := c.Handle(g, "flood", "", 1, func(context.Context, *natsgo.Msg) error { return nil }); err != nil {
				return err
			}
			if err := c.Flush(g); err != nil {
				return err
			}
			s := c.subscriptions[len(c.subscriptions)-1]
			for range 3 {
				before := s.dropped.Load()
				f.deliver("flood", "x", heldMax+1000)
				for s.dropped.Load() == before { // the loop stands still, so nothing is taken
					runtime.Gosched()
				}
				if err := c.Flush(g); err != nil {
					return err
				}
				for s.Len() > 0 {
					if err := rondo.Yield(g); err != nil {
						return err
					}
				}
			}
			if _, _, err := rondo.Receive(g, begun); err != nil {
				return err
			}
			time.AfterFunc(10*time.Millisecond, func() { close(release) })
			g.Cancel(nil)
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	if !returned || len(begun) != 0 {
		t.Errorf("the report has returned: %v; %d more were begun", returned, len(begun))
	}
}

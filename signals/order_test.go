package signals_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/sim"
)

// TestSignalsInAnyOrder: of two signals that come before the program has taken one, either may
// be first. What has been taken stays before what comes later.
func TestSignalsInAnyOrder(t *testing.T) {
	orders := map[string]bool{}
	sim.Config{Seeds: 20, SeedsShort: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		got := ""
		h := w.Host("a", func(ctx context.Context) error {
			for s := range signals.Notify(ctx, syscall.SIGHUP, syscall.SIGTERM, os.Interrupt) {
				got += s.String() + " "
			}
			return nil
		})
		_ = rondo.Sleep(ctx, time.Hour)
		h.Signal(syscall.SIGHUP)
		h.Signal(syscall.SIGTERM)
		_ = rondo.Sleep(ctx, time.Hour)
		h.Signal(os.Interrupt)
		_ = rondo.Sleep(ctx, time.Hour)
		orders[got] = true
	})
	if len(orders) != 2 || !orders["hangup terminated interrupt "] || !orders["terminated hangup interrupt "] {
		t.Errorf("they came in the orders %v", orders)
	}
}

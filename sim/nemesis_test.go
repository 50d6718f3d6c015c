package sim

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestFaultKeepsItsHost adds a host between the choice of a fault and its strike: it
// strikes the host that was chosen, which is the one that a report names.
func TestFaultKeepsItsHost(t *testing.T) {
	Config{Seeds: 5}.Cluster(t, func(ctx context.Context, w *World) {
		idle := func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }
		a := w.Host("a", idle)
		const whom = 1 << whomShift // of two hosts this is the second
		w.faults.plan(a, uint64(faultCrash)+1|whom|0xffff<<longShift|delayed16(time.Second)<<delayShift)
		b := w.Host("b", idle)
		_ = rondo.Sleep(ctx, 3*time.Second)
		if a.Up() || !b.Up() {
			t.Errorf("a is up: %v, b is up: %v; the fault was for a", a.Up(), b.Up())
		}
		w.faults.strike(w.test, uint64(faultPause)+1) // as a list of another test may have it
	})
}

// TestCutOutlivesAFault has a fault cut a link that the test cuts too: it stays cut when the
// fault is over, until Heal.
func TestCutOutlivesAFault(t *testing.T) {
	Config{Seeds: 5}.Cluster(t, func(ctx context.Context, w *World) {
		idle := func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }
		a, b := w.Host("a", idle), w.Host("b", idle)
		l := w.Link(a, b)
		w.faults.partition(a, 0, time.Second)
		if l.passes() {
			t.Error("the fault cuts nothing")
		}
		w.Cut(a, b)
		_ = rondo.Sleep(ctx, 2*time.Second)
		if l.passes() || !l.back().passes() {
			t.Errorf("after the fault it passes: %v, and back: %v", l.passes(), l.back().passes())
		}
		if w.Heal(); !l.passes() {
			t.Error("it is cut after Heal")
		}
	})
}

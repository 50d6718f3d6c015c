package guest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/guest"
	"github.com/rondo-go/rondo/inspect"
)

// TestAsleep: who looks at a guest that sleeps sees a loop that sleeps, and none that is held.
func TestAsleep(t *testing.T) {
	l := guest.New(t.Context(), &rondo.Runner{Name: "sleeping guest"}, nil, func(ctx context.Context) error {
		return rondo.Sleep(ctx, time.Hour)
	})
	if state := l.Step(-1); state != guest.Sleeping {
		t.Errorf("Step returned %v", state)
	}
	<-time.After(200 * time.Millisecond) // a loop that is held is seen by that after 100 ms
	p, err := inspect.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, seen := range p.Loops {
		if seen.Name == "sleeping guest" {
			found = true
			if seen.Held != nil {
				t.Errorf("it is held: %+v", *seen.Held)
			}
		}
	}
	if !found {
		t.Errorf("it is none of %d loops", len(p.Loops))
	}
	_ = l.Close()
}

package main

import (
	"context"
	"testing"

	"github.com/rondo-go/rondo/guest"
	"github.com/rondo-go/rondo/sim"
)

// TestMeadow lets the fox hunt in a simulation, in which no time passes: the tasks of a guest
// are tested without a host.
func TestMeadow(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var m meadow
		if err := m.live(ctx); err != nil {
			t.Error(err)
		}
		if m.caught != 8 || len(m.rabbits) != 0 {
			t.Errorf("%d rabbits were caught, and %d are left", m.caught, len(m.rabbits))
		}
	})
}

// TestHost steps a few times, as a page does, and ends in the middle.
func TestHost(t *testing.T) {
	var m meadow
	tasks := guest.New(t.Context(), nil, nil, m.live)
	for len(m.rabbits) < 8 || m.fox == nil {
		tasks.Step(0)
	}
	if err := tasks.Close(); err == nil || tasks.Step(0) != guest.Ended {
		t.Errorf("Close returned %v in the middle", err)
	}
}

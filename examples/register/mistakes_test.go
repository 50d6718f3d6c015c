package main

import (
	"testing"

	"github.com/rondo-go/rondo/examples/internal/trial"
	"github.com/rondo-go/rondo/sim"
)

// TestMistakes plants one mistake after the other, and wants each found within 200
// seeds.
func TestMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some hundred seeds")
	}
	trial.Find(t, sim.Config{Faults: faults}, story,
		trial.Mistake{Name: "a read does not write back", On: &mistakes.noWriteBack},
		trial.Mistake{Name: "two of five are a majority", On: &mistakes.minority},
		trial.Mistake{Name: "a replica does not sync", On: &mistakes.noSync},
		trial.Mistake{Name: "the time is the tag", On: &mistakes.ownClock},
	)
}

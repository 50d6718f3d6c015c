package main

import (
	"testing"

	"github.com/rondo-go/rondo/examples/internal/trial"
	"github.com/rondo-go/rondo/sim"
)

// TestMistakes plants one mistake after the other, and wants each found within 200 seeds.
func TestMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some hundred seeds")
	}
	trial.Find(t, sim.Config{Faults: faults}, story,
		trial.Mistake{Name: "an entry is confirmed before the disk has it", On: &mistakes.noSync},
		trial.Mistake{Name: "a vote is given before the disk has it", On: &mistakes.voteLater},
		trial.Mistake{Name: "an old entry is committed by counting", On: &mistakes.commitOld},
		trial.Mistake{Name: "a leader reads alone", On: &mistakes.readAlone},
		trial.Mistake{Name: "a conflict does not truncate", On: &mistakes.keepTail},
		trial.Mistake{Name: "a retry is done twice", On: &mistakes.repeatTwice},
	)
}

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/trial"
	"github.com/rondo-go/rondo/sim"
)

// planted are the mistakes.
var planted = []trial.Mistake{
	{Name: "a read does not write back", On: &mistakes.noWriteBack},
	{Name: "two of five are a majority", On: &mistakes.minority},
	{Name: "a replica does not sync", On: &mistakes.noSync},
	{Name: "the time is the tag", On: &mistakes.ownClock},
}

// TestMistakes plants one mistake after the other, and wants each found within 200
// seeds.
func TestMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some hundred seeds")
	}
	trial.Find(t, sim.Config{Faults: faults}, story, planted...)
}

// plantedVariable names the mistake that TestPlanted plants, in a process that TestShrunk has
// started.
const plantedVariable = "RONDO_REGISTER_MISTAKE"

// TestPlanted fails with a mistake.
func TestPlanted(t *testing.T) {
	for _, m := range planted {
		if os.Getenv(plantedVariable) == m.Name {
			*m.On = true
			sim.Config{Seeds: 200, Faults: faults}.Cluster(t, story(t))
		}
	}
}

// TestShrunk: of the thousands of choices with which a mistake is found, at most 12 are left.
func TestShrunk(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some hundred seeds")
	}
	// The last mistake takes the fewest runs to shrink.
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPlanted$")
	c.Env = append(os.Environ(), plantedVariable+"="+planted[len(planted)-1].Name, "RONDO_SEED=", "RONDO_SIM_STORE=off", "RONDO_SHRINK=5m")
	text, err := c.CombinedOutput()
	found := regexp.MustCompile(`of its (\d+) choices (\d+) matter \((\d+) runs\)`).FindSubmatch(text)
	if err == nil || found == nil {
		t.Fatalf("not found, or not shrunk: %v\n%s", err, text)
	}
	t.Logf("of %s choices %s are left after %s runs", found[1], found[2], found[3])
	left, _ := strconv.Atoi(string(found[2]))
	if runs, _ := strconv.Atoi(string(found[3])); left > 12 || runs > 10_000 {
		t.Errorf("%d choices are left after %d runs:\n%s", left, runs, text)
	}
}

package surplus

import (
	"math"
	"testing"
)

// TestCount: what was idle all the time is surplus, but for Keep; what was needed in
// between is not.
func TestCount(t *testing.T) {
	var c Count
	c.Look(After, Keep+10)
	if c.N != 0 || c.Due {
		t.Fatalf("%d of none that were idle before are surplus", c.N)
	}
	c.Idle(Keep + 3)
	c.Idle(Keep + 7)
	c.Look(2*After-1, Keep+7)
	if c.N != 0 {
		t.Fatalf("%d are surplus before the time", c.N)
	}
	c.Look(2*After, Keep+7)
	if c.N != 3 || !c.Due {
		t.Fatalf("%d are surplus, due %v; the fewest idle were 3 more than are kept", c.N, c.Due)
	}
	c.Retired(Keep + 6)
	if c.N != 2 {
		t.Fatalf("%d are left of 3 after one", c.N)
	}
	c.Look(3*After, Keep+6)
	if c.N != 6 {
		t.Fatalf("%d are surplus of 6 beyond those that are kept", c.N)
	}
	c.Clear()
	if c.N != 0 || c.Due {
		t.Fatal("Clear leaves some")
	}
}

// TestAt: a loop that sleeps wakes only if somebody can be retired then.
func TestAt(t *testing.T) {
	c := Count{Since: 7, Stuck: 2}
	if at := c.At(Keep + 2); at != math.MaxInt64 {
		t.Errorf("with nobody to retire it looks at %d", at)
	}
	if at := c.At(Keep + 3); at != 7+After {
		t.Errorf("it looks at %d, want %d", at, 7+After)
	}
}

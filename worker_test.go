package rondo

import "testing"

// TestSurplusCount: what was idle all the time is surplus, but for surplusKeep; what was needed in
// between is not.
func TestSurplusCount(t *testing.T) {
	var c surplus
	c.look(surplusAfter, surplusKeep+10)
	if c.n != 0 || c.due {
		t.Fatalf("%d of none that were idle before are surplus", c.n)
	}
	c.idle(surplusKeep + 3)
	c.idle(surplusKeep + 7)
	c.look(2*surplusAfter-1, surplusKeep+7)
	if c.n != 0 {
		t.Fatalf("%d are surplus before the time", c.n)
	}
	c.look(2*surplusAfter, surplusKeep+7)
	if c.n != 3 || !c.due {
		t.Fatalf("%d are surplus, due %v; the fewest idle were 3 more than are kept", c.n, c.due)
	}
	c.idle(surplusKeep + 6)
	c.look(3*surplusAfter, surplusKeep+6)
	if c.n != 6 {
		t.Fatalf("%d are surplus of 6 beyond those that are kept", c.n)
	}
	c.clear()
	if c.n != 0 || c.due {
		t.Fatal("clear leaves some")
	}
}

// TestSurplusAt: a loop that sleeps wakes only if somebody can be retired then.
func TestSurplusAt(t *testing.T) {
	c := surplus{since: 7, stuck: 2}
	if at := c.at(surplusKeep + 2); at != never {
		t.Errorf("with nobody to retire it looks at %d", at)
	}
	if at := c.at(surplusKeep + 3); at != 7+surplusAfter {
		t.Errorf("it looks at %d, want %d", at, 7+surplusAfter)
	}
}

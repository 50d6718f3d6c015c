package rondo

import (
	"context"
	"testing"
)

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

// TestSurplusOfPool: workers that a task took, or that were retired, were not idle throughout.
func TestSurplusOfPool(t *testing.T) {
	var p pool
	for range 3 {
		p.setIdle(new(worker))
	}
	p.surplus = surplus{n: 2, least: len(p.idle)}
	p.setIdle(p.idleWorker())
	if p.surplus.least != 2 {
		t.Errorf("when one of 3 was taken, %d were idle throughout", p.surplus.least)
	}
	p.retire(p.idle[0])
	p.retire(p.idle[0])
	if p.surplus.least != 1 || p.surplus.n != 0 {
		t.Errorf("when 2 were retired, %d were idle throughout, and %d are surplus", p.surplus.least, p.surplus.n)
	}
}

// TestSurplusIsLookedFor: not by a loop that fails, nor in a simulation, whose clock it would stop.
func TestSurplusIsLookedFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		sim     *simulation
		fault   fault
		at      int64
		surplus int
	}{
		{"a loop", nil, fault{}, surplusAfter, 2},
		{"one that fails", nil, fault{goexit: true}, never, 0},
		{"a simulated one", &simulation{}, fault{}, never, 2},
	} {
		l := &Loop{sim: c.sim}
		l.fault = c.fault
		for range surplusKeep + 2 {
			l.setIdle(new(worker))
		}
		if at := l.lookAt(); at != c.at {
			t.Errorf("%s wakes to look at %d, want %d", c.name, at, c.at)
		}
		l.now, l.surplus = surplusAfter, surplus{n: 5, due: true, least: surplusKeep + 2}
		if l.lookForSurplus(); l.surplus.n != c.surplus || l.surplus.due != (c.surplus > 0) {
			t.Errorf("%s has %d that are surplus, want %d; due %v", c.name, l.surplus.n, c.surplus, l.surplus.due)
		}
	}
}

// TestGoexitKeepsWorkers: from the moment of a Goexit no worker is surplus, because the end of the
// one whose task called it would continue the Goexit in another task.
func TestGoexitKeepsWorkers(t *testing.T) {
	l := new(Loop)
	l.root.loop, l.surplus = l, surplus{n: 5, due: true}
	if l.noteGoexit(); l.surplus.n != 0 || l.surplus.due || !l.fault.goexit {
		t.Errorf("after a Goexit %d workers are surplus; due %v", l.surplus.n, l.surplus.due)
	}
}

// TestWorkerIsUsedAgain: what is counted of a task begins with it, also on a worker that has run
// another one, and its parent counts as the task that woke it.
func TestWorkerIsUsedAgain(t *testing.T) {
	err := Run(context.Background(), func(ctx context.Context) error {
		var used [2]*worker
		for i := range used {
			task := Go(ctx, func(ctx context.Context) error {
				w := Current(ctx).worker
				if used[i] = w; w.switches != 1 || w.cost.Waker != 1 {
					t.Errorf("task %d has run %d times, woken by task %d", i, w.switches, w.cost.Waker)
				}
				return Yield(ctx)
			})
			if err := task.Wait(ctx); err != nil {
				return err
			}
		}
		if used[0] != used[1] {
			t.Error("each has a worker of its own: this tests nothing")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

package pace

import "testing"

const (
	us = int64(1000)
	ms = 1000 * us
)

// TestCharge: what tasks are charged with after steps of some lengths.
func TestCharge(t *testing.T) {
	var p Pace
	var a, b Cost
	p.Slept(0, 0)
	p.Charge(1, 50*us, &a, 1)         // exact
	p.Charge(1, 51*us, &a, 1)         // no step since
	p.Charge(5, 59*us, &b, 2)         // four short steps, of which b's was the last
	p.Charge(6, 59*us+3*ms, &b, 2)    // exact, and slow
	p.Charge(9, 59*us+9*ms, &a, 1)    // one of three was slow: whose is not known
	p.Charge(10, 59*us+309*ms, &a, 1) // it held the loop
	p.Charge(12, 59*us+609*ms, &b, 2) // one of two did
	p.Charge(13, 59*us+610*ms, nil, 0)
	p.Charge(15, 59*us+611*ms, &b, 2) // one of two may have been slow
	p.Slept(15, 900*ms)               // what is between is sleep
	p.Charge(16, 901*ms, &b, 2)
	for _, c := range []struct {
		name          string
		cost          Cost
		busy, longest int64
		slow          int
	}{{"a", a, 300*ms + 50*us, 300 * ms, 1}, {"b", b, 4*ms + 8*us, 3*ms - 8*us, 2}} {
		if c.cost.Busy() != c.busy || c.cost.Longest() != c.longest || c.cost.Slow() != c.slow {
			t.Errorf("%s: busy %d, longest %d, %d slow; want %d, %d and %d", c.name, c.cost.Busy(), c.cost.Longest(), c.cost.Slow(), c.busy, c.longest, c.slow)
		}
	}
	if p.Unknown != 307*ms {
		t.Errorf("%d ns are of unknown tasks, want %d", p.Unknown, 307*ms)
	}
	if want := [2]Held{{59*us + 9*ms, 300 * ms, 1}, {59*us + 309*ms, 300 * ms, 0}}; p.Count != 2 || [2]Held(p.Steps[:2]) != want {
		t.Errorf("%d steps held the loop: %v, want %v", p.Count, p.Steps[:2], want)
	}
	for range 20 {
		p.Charge(p.readAt+1, p.read+Holds, &a, 1)
	}
	if p.Count != 22 || p.Steps[(p.Count-1)%8].Began != p.read-Holds {
		t.Errorf("after 20 more: %d, %v", p.Count, p.Steps)
	}
}

// TestBusy: nanoseconds do not fit into one half.
func TestBusy(t *testing.T) {
	var c Cost
	for range 3 {
		c.add(4e9)
	}
	if c.Busy() != 12e9 {
		t.Errorf("%d, want 12e9", c.Busy())
	}
	for range 2000 {
		c.measured(1 << 62)
	}
	if c.Longest() < 67e9 || c.Slow() != 1023 {
		t.Errorf("the longest step is %d, %d are slow", c.Longest(), c.Slow())
	}
}

// TestTurns: tasks that take turns, in whatever number, are charged with equal shares.
func TestTurns(t *testing.T) {
	for _, n := range []int{2, 3, 4, 7, 8, 16, 32, 61, 64} {
		var p Pace
		costs, now := make([]Cost, n), int64(0)
		p.Slept(0, 0)
		const steps = 400_000
		for step := uint64(1); step <= steps; step++ {
			now += 100
			if step < p.Look {
				continue
			}
			i := int(step) % n
			if p.Charge(step, now, &costs[i], uint64(i)); p.IsTime(step, now) {
				p.Asked(step, now)
			}
		}
		for i := range costs {
			if share := float64(costs[i].Busy()) * float64(n) / float64(steps*100); share < 0.6 || share > 1.4 {
				t.Errorf("of %d tasks, one is charged with %.2f of its share", n, share)
			}
		}
	}
}

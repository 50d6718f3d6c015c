package pace

import "testing"

// TestPace runs a loop whose steps take a certain time, and counts between two
// questions the steps, the time and how often the clock was read.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name  string
		step  int64 // ns
		steps uint64
		looks int // at most, in 1000 steps
	}{
		{"short steps", 5, Every, 22},
		{"steps of 10 us", 10_000, 10, 350},
		{"steps that each take long", 2 * After, 1, 1000},
	} {
		var p Pace
		var now int64
		p.Slept(0, now)
		last, looks := uint64(0), 0
		for step := uint64(1); step <= 1000; step++ {
			now += c.step
			if step < p.Look {
				continue
			}
			looks++
			if !p.IsTime(step, now) {
				if p.Look <= step {
					t.Fatalf("%s: the next look after step %d is at step %d", c.name, step, p.Look)
				}
				continue
			}
			if n := step - last; step > 300 && n != c.steps && (c.steps != Every || n > Every || n < Every-drift) {
				t.Errorf("%s: asked after %d steps, want %d", c.name, step-last, c.steps)
			}
			if p.Short(step) != (step-last < Every-p.fewer) {
				t.Errorf("%s: Short is wrong after %d steps", c.name, step-last)
			}
			last = step
			p.Asked(step, now)
		}
		if looks > c.looks {
			t.Errorf("%s: the clock was read %d times in 1000 steps, want at most %d", c.name, looks, c.looks)
		}
	}
}

// TestPaceAfterSleep: the first step after a sleep is looked at, however short the
// steps before were.
func TestPaceAfterSleep(t *testing.T) {
	var p Pace
	p.Asked(64, 64*5)
	p.Slept(100, 1e9)
	if p.Look != 101 || p.IsTime(101, 1e9+After-1) || !p.IsTime(101, 1e9+After) {
		t.Errorf("the next look is at step %d", p.Look)
	}
}

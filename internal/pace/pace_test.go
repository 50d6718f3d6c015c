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
		{"steps that take no time", 0, Every, 22},
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
	for step := uint64(99); step < 104; step++ {
		if at, known := p.Began(step); known != (step == 101) || known && at != 1e9 {
			t.Errorf("step %d began at %d, known %v", step, at, known)
		}
	}
	var c Cost
	p.Resume(2e9)
	if p.IsTime(101, 2e9+After-1) || !p.IsTime(101, 2e9+After) {
		t.Error("what was before Resume counts")
	}
	if p.Charge(101, 2e9+5, &c, 1); c.Busy() != 5 {
		t.Errorf("a task is charged with %d ns of 5 since Resume", c.Busy())
	}
}

// TestLooks: the step of the next look at the clock, at the latest Every-fewer steps after the
// question, follows from how long the steps since the question took.
func TestLooks(t *testing.T) {
	asked := func(step uint64, took int64) func(p *Pace) {
		return func(p *Pace) { p.Asked(100+step, 1000+took) }
	}
	looked := func(step uint64, took int64) func(p *Pace) {
		return func(p *Pace) { p.IsTime(100+step, 1000+took) }
	}
	for _, c := range []struct {
		name string
		do   func(p *Pace)
		look uint64
	}{
		{"a question when it was time", asked(10, After), 11},
		{"one just before", asked(10, After-1), 20},
		{"one after steps that took no time", asked(2, 0), 10},
		{"one after short steps", asked(2, 1), 10},
		{"steps that took a quarter", looked(10, After/4), 40},
		{"steps that took nearly all", looked(10, After/100*95), 11},
		{"many short steps", looked(50, 1), Every - 5},
	} {
		var p Pace
		p.Slept(100, 1000)
		p.fewer = 5
		if c.do(&p); p.Look != 100+c.look {
			t.Errorf("%s: the next look is after %d steps, want %d", c.name, int64(p.Look)-100, c.look)
		}
	}
}

// TestWary: after a long step, or several of which one must have been long, the clock is read at
// each of the next Every steps, and then no more.
func TestWary(t *testing.T) {
	for _, c := range []struct {
		steps uint64
		took  int64
		want  int
	}{{1, long, Every}, {1, long - 1, 0}, {3, 3 * long, Every}, {3, 3*long - 1, 0}} {
		var p Pace
		p.Slept(100, 1000)
		step := 100 + c.steps
		now, looks := p.Charge(step, 1000+c.took, nil, 0), 0
		for range 2 * Every {
			if p.Asked(step, now); p.Look == step+1 {
				looks++
			}
			step++
		}
		if looks != c.want {
			t.Errorf("after %d steps of %d ns the clock is read at each of %d, want %d", c.steps, c.took, looks, c.want)
		}
	}
}

// TestShare: operations that take long come to IsTurn soon, and it is somebody else's turn when
// the loop has run for After.
func TestShare(t *testing.T) {
	var p Pace
	p.Resume(1000)
	for i, c := range []struct {
		n    uint32
		at   int64 // since the last question
		next uint32
		turn bool
	}{
		{8, After / 8, 16, false},
		{16, After / 8 * 3, 16, false}, // a quarter
		{16, After / 8 * 3, 64, false}, // no time
		{64, After / 8 * 3, lookEvery, false},
		{64, After - 1, 25, false},
		{25, After, lookEvery, true},
		{1, After * 2, 1, true},
	} {
		if turn := p.IsTurn(c.n, 1000+c.at); turn != c.turn || p.Share != c.next*Operation {
			t.Errorf("%d: a turn is %v, the next look comes after %d operations; want %v and %d", i, turn, p.Share/Operation, c.turn, c.next)
		}
	}
	for n, want := range map[int]uint32{0: 1, 7: 1, 8: 2, 256: 33, 1 << 20: 33} {
		if got := Many(n); got != want {
			t.Errorf("one on %d things counts as %d, want %d", n, got, want)
		}
	}
}

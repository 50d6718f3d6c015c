package main

// A comparison lets two sides do equal work in turns.
//
// The law: both sides are warm before they are measured, and both start from a
// collected heap. They take turns in short bursts, and take turns at going first.
// The two sides of one round are compared with each other and with no other
// round. Other work on the machine can only make a burst longer, so the fastest
// burst of a round counts.

import (
	"cmp"
	"runtime"
	"slices"
	"time"
)

// A clock measures from ResetTimer to StopTimer. A *testing.B is a clock, so
// "go test -bench" can run a side.
type clock interface {
	ResetTimer()
	StopTimer()
}

// A side is Rondo or its rival. It warms up, calls c.ResetTimer, does n
// operations, and calls c.StopTimer.
type side func(c clock, n int)

// warmed warms a side up, and measures n operations of work.
func warmed(c clock, n int, work func(n int) error) error {
	if err := work(warmUp); err != nil {
		return err
	}
	c.ResetTimer()
	err := work(n)
	c.StopTimer()
	return err
}

// infallible is warmed for a rival whose work returns no error.
func infallible(c clock, n int, work func(n int)) {
	work(warmUp)
	c.ResetTimer()
	work(n)
	c.StopTimer()
}

// A comparison is a row in which both sides run in this process.
type comparison struct {
	name    string
	what    string
	rival   string
	budget  float64
	limit   time.Duration // of Rondo's cost; 0: none
	allowed int
	why     string                // why Rondo is not first, where it is not
	procs   int                   // GOMAXPROCS for this row; 0: unchanged
	batches bool                  // an operation is a batch of tasks; see options
	spent   func() (int64, error) // the time to measure, in ns; nil: wall-clock time
	mine    func(o options) side
	theirs  func(o options) side
}

func (d comparison) row() row {
	return row{
		name: d.name, section: besideGo, why: d.why,
		run: func(o options) ([]result, error) { return []result{d.run(o)}, nil },
	}
}

// run measures both sides.
func (d comparison) run(o options) result {
	if d.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(d.procs))
	}
	mine, theirs := d.mine(o), d.theirs(o)
	n, bursts := d.enough(theirs, o.burst), o.bursts
	if d.batches {
		n, bursts = max(n, o.batches), 1
	}
	f := result{What: d.what, Rival: d.rival, Unit: "ns", Budget: d.budget, Limit: float64(d.limit), Allowed: d.allowed}
	var a, b, allocs []float64
	for round := range o.rounds {
		var m, t []meter
		for i := range bursts {
			if (round+i)%2 == 0 {
				m, t = append(m, d.timed(mine, n)), append(t, d.timed(theirs, n))
			} else {
				t, m = append(t, d.timed(theirs, n)), append(m, d.timed(mine, n))
			}
		}
		ours, other := slices.MinFunc(m, faster), slices.MinFunc(t, faster)
		a = append(a, float64(ours.took)/float64(n))
		b = append(b, float64(other.took)/float64(n))
		f.Ratios = append(f.Ratios, float64(ours.took)/float64(other.took))
		allocs = append(allocs, float64(ours.allocs/uint64(n)))
	}
	f.Own, f.Theirs, f.Allocs = median(a), median(b), int(median(allocs))
	return f
}

func faster(a, b meter) int { return cmp.Compare(a.took, b.took) }

// enough finds how many operations make a burst long enough. A burst that other work
// interrupted seems long, so the shorter of two counts.
func (d comparison) enough(c side, burst time.Duration) int {
	for n := 1; ; n *= 2 {
		if min(d.timed(c, n).took, d.timed(c, n).took) >= burst {
			return n
		}
	}
}

// timed measures one burst of one side.
func (d comparison) timed(c side, n int) meter {
	runtime.GC()
	m := meter{now: d.spent}
	if m.now == nil {
		start := time.Now()
		m.now = func() (int64, error) { return int64(time.Since(start)), nil }
	}
	c(&m, n)
	return m
}

// A meter is a clock that also counts allocations.
type meter struct {
	now    func() (int64, error)
	began  int64
	before uint64
	took   time.Duration
	allocs uint64
}

func (m *meter) ResetTimer() {
	m.before = mallocs()
	m.began = m.read()
}

func (m *meter) StopTimer() {
	m.took = time.Duration(m.read() - m.began)
	m.allocs = mallocs() - m.before
}

func (m *meter) read() int64 {
	t, err := m.now()
	if err != nil {
		panic(err)
	}
	return t
}

func mallocs() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.Mallocs
}

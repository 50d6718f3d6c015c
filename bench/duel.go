package main

// This file lets two contestants do equal work in turns and compares them.
//
// The law: both sides are warm before they are measured, both start from a
// collected heap, they take turns in short bursts and at going first, and a
// round of one is compared only with the round of the other that it is mixed
// with. Whatever else the machine does only adds to a burst, so the fastest of a
// round's bursts is what the round says.

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// A clock measures what lies between ResetTimer and StopTimer. A *testing.B is
// one, so a contestant serves "go test -bench" as well.
type clock interface {
	ResetTimer()
	StopTimer()
}

// A contestant does n operations between c.ResetTimer and c.StopTimer, and what
// it takes to be warm before that.
type contestant func(c clock, n int)

// A row is a line of the table, or a few that are measured together.
type row struct {
	name string
	run  func(o options) ([]finding, error)
}

// A finding is one line of the table.
type finding struct {
	what    string
	rival   string
	unit    string  // of mine and theirs: "ns", "B"
	mine    float64 // the median over the rounds
	theirs  float64
	ratios  []float64 // one a round
	budget  float64   // the ratio must not be above it; 0: there is none
	allocs  int       // what mine allocates in an operation
	allowed int       // what it may allocate; unlimited: anything
}

// unlimited as the number of allocations allowed means that they do not count.
const unlimited = -1

func (f *finding) ratio() float64 { return median(f.ratios) }

// met reports whether the budget is kept. The ratio is compared as it is
// printed: to two places.
func (f *finding) met() bool {
	fast := f.budget == 0 || math.Round(f.ratio()*100) <= math.Round(f.budget*100)
	return fast && (f.allowed == unlimited || f.allocs <= f.allowed)
}

// brief is for people who watch it being measured.
func (f *finding) brief() string {
	verdict := "met"
	if f.budget == 0 {
		verdict = ""
	} else if !f.met() {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%.2fx %s", f.ratio(), verdict)
}

// A duel is a row in which both sides run in this process.
type duel struct {
	name    string
	what    string
	rival   string
	budget  float64
	allowed int
	procs   int                   // GOMAXPROCS meanwhile; 0: as it is
	batches bool                  // an operation is a batch of tasks; see options
	spent   func() (int64, error) // what time is measured, in ns; nil: the wall's
	mine    func(o options) contestant
	theirs  func(o options) contestant
}

func (d duel) row() row {
	return row{d.name, func(o options) ([]finding, error) { return []finding{d.run(o)}, nil }}
}

// run measures the duel.
func (d duel) run(o options) finding {
	if d.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(d.procs))
	}
	mine, theirs := d.mine(o), d.theirs(o)
	n, bursts := d.enough(theirs, o.burst), o.bursts
	if d.batches {
		n, bursts = max(n, o.batches), 1
	}
	f := finding{what: d.what, rival: d.rival, unit: "ns", budget: d.budget, allowed: d.allowed}
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
		f.ratios = append(f.ratios, float64(ours.took)/float64(other.took))
		allocs = append(allocs, float64(ours.allocs/uint64(n)))
	}
	f.mine, f.theirs, f.allocs = median(a), median(b), int(median(allocs))
	return f
}

func faster(a, b meter) int { return cmp.Compare(a.took, b.took) }

// enough finds how many operations make a burst long enough.
func (d duel) enough(c contestant, burst time.Duration) int {
	for n := 1; ; n *= 2 {
		took := d.timed(c, n).took
		if took >= burst {
			return n
		}
		if took > burst/100 {
			return max(n, int(float64(n)*float64(burst)/float64(took)))
		}
	}
}

// timed is one burst of one side.
func (d duel) timed(c contestant, n int) meter {
	runtime.GC()
	m := meter{now: d.spent}
	if m.now == nil {
		start := time.Now()
		m.now = func() (int64, error) { return int64(time.Since(start)), nil }
	}
	c(&m, n)
	return m
}

// A meter is a clock that counts allocations too.
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

// median gives the value in the middle, the upper one of two. There must be one.
func median[T cmp.Ordered](values []T) T {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}

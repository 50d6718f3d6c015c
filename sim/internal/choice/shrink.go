package choice

// A Shrinker searches for a shorter list of choices that still fails: first without whole kinds of
// choices, faults first, whole hosts and parts of the run. Where many are left, it begins again
// with fresh choices, few of them, that fail too. Then it does without halves, quarters and single
// ones of each kind, and tries smaller values. If many are left of which none can be left out, it
// tries pairs, further fresh choices, and changes of the list at random.
//
// The law: a list counts only if its run failed in the same way. The search goes on with the
// choices that the run made, not with the list that was tried, so choices that no longer
// happen fall out by themselves.

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
)

// ShrinkTime is how long a search takes at most, in real time, unless RONDO_SHRINK says
// otherwise. Within it the search goes on until no choice can be left out.
const ShrinkTime = "2500ms"

// A Shrinker is a search.
type Shrinker struct {
	Best  []Choice // the shortest list that failed
	Runs  int
	Until time.Time

	// What the caller of Candidates says of the one that it was given last.
	Failed bool
	Made   []Choice

	yield   func(Candidate) bool
	fresh   *Fresh // with which runs fail that make few choices; nil: none is known
	drawn   uint64 // how many runs had fresh choices
	stopped bool
}

// Few is how many choices are so few that a person reads them all: with more, the search goes on
// past a list of which none can be left out.
const Few = 12

// Candidates ranges over what is to be tried, each of which depends on how the one before it
// ended. It ends when Best cannot be shortened, or the search has taken too long.
func (s *Shrinker) Candidates() iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		s.yield = yield
		if len(s.Best) == 0 || s.try([]Choice{}) {
			return
		}
		s.parts()
		if s.windows(); len(s.Best) > manyChoices {
			s.renew()
		}
		if s.descend(); len(s.Best) > Few {
			s.again()
		}
		if len(s.Best) > Few {
			s.wander()
			s.descend()
		}
	}
}

// run runs a list, and reports whether it failed.
func (s *Shrinker) run(list []Choice) bool { return s.take(Candidate{List: list}) }

// take makes the run that a candidate says, and reports whether it failed.
func (s *Shrinker) take(one Candidate) bool {
	if s.stopped || time.Now().After(s.Until) {
		s.stopped = true
		return false
	}
	s.Runs++
	s.Failed = false
	if !s.yield(one) {
		s.stopped = true
	}
	return s.Failed && !s.stopped
}

// try runs a list, and reports whether Best is shorter now. A run that made choices that are no
// fewer is no progress.
func (s *Shrinker) try(list []Choice) bool {
	if !s.run(list) || !less(s.Made, s.Best) {
		return false
	}
	s.Best = slices.Clone(s.Made)
	return true
}

// less reports whether a list is simpler than another one.
func less(a, b []Choice) bool {
	x, y := size(a), size(b)
	return slices.Compare(x[:], y[:]) < 0
}

// descend shortens Best until none of its choices can be left out, and no pair of them.
func (s *Shrinker) descend() {
	fine := false
	for before := size(s.Best); !s.stopped; before = size(s.Best) {
		least := 1
		if !fine {
			least = max(1, len(s.Best)/coarse)
		}
		s.round(least)
		if size(s.Best) != before {
			continue
		}
		if least > 1 {
			fine = true
			continue
		}
		if n := len(s.Best); n <= Few || n > pairsMost || !s.pairs() {
			return
		}
	}
}

// coarse is in how many parts a list is divided at most until none of these can be left out.
const coarse = 64

// renew looks for a run with few fresh choices that fails: each one that fails with fewer choices
// than those before says how many of each kind come next. It leaves the shortest list in Best, and
// gives up when many runs in a row did not fail with fewer.
func (s *Shrinker) renew() {
	f, fewest, patience := &Fresh{}, math.MaxInt, soon
	for _, c := range s.Best {
		f.share[c.Purpose] = 1
	}
	for idle := 0; idle < patience && !s.stopped; idle++ {
		next := s.draw(f)
		if !s.take(Candidate{Fresh: next}) || len(s.Made) >= fewest {
			continue
		}
		f, s.fresh, fewest, idle, patience = next, next, len(s.Made), 0, max(4*soon, len(s.Made))
		if less(s.Made, s.Best) && s.run(slices.Clone(s.Made)) {
			s.Best = slices.Clone(s.Made)
		}
	}
}

// soon is in how many runs with fresh choices one must fail at first.
const soon = 60

// draw returns fresh choices like those of f.
func (s *Shrinker) draw(f *Fresh) *Fresh {
	s.drawn++
	return f.fewer(s.drawn)
}

// again draws as the last run did that renew has made, and shortens what fails, until many runs
// in a row did not lead to a shorter list.
func (s *Shrinker) again() {
	for idle := 0; s.fresh != nil && idle < againMost && len(s.Best) > Few && !s.stopped; {
		best, runs := s.Best, s.Runs
		fails := s.take(Candidate{Fresh: s.draw(s.fresh)}) && len(s.Made) < 3*len(best)
		if fails && s.run(slices.Clone(s.Made)) {
			s.Best = slices.Clone(s.Made)
			s.descend()
		}
		if idle += s.Runs - runs; less(s.Best, best) {
			idle = 0
		} else {
			s.Best = best
		}
	}
}

// againMost is how many runs in a row again makes without a shorter list.
const againMost = 2000

// pairsMost is of how many choices each pair is tried.
const pairsMost = 30

// pairs tries to do without two choices. It reports whether that was any use.
func (s *Shrinker) pairs() bool {
	for i := range s.Best {
		for j := range i {
			list := slices.Delete(slices.Clone(s.Best), i, i+1)
			if s.try(slices.Delete(list, j, j+1)) {
				return true
			}
		}
	}
	return false
}

// wander changes Best at random without making it longer, and shortens what comes of that: what is
// left of a list often only holds the time of the others in place, and one longer delay does the
// same as ten short ones.
func (s *Shrinker) wander() {
	best := s.Best
	for step, idle := uint64(1), 0; !s.stopped && idle < idleMost && len(best) > Few; step++ {
		idle++
		if !s.run(s.changed(step)) || len(s.Made) > len(s.Best) {
			continue
		}
		shorter := len(s.Made) < len(s.Best)
		if s.Best = slices.Clone(s.Made); shorter {
			idle = 0
		}
		if less(s.Best, best) {
			best = s.Best
		}
	}
	s.Best = best
}

// idleMost is how many runs in a row wander makes without a shorter list.
const idleMost = 1000

// changed returns Best with some values changed, some choices at another moment, and some left out.
func (s *Shrinker) changed(step uint64) []Choice {
	r := Stream(step, ForShrinking)
	list := slices.Clone(s.Best)
	for range 1 + r.IntN(3) {
		c := &list[r.IntN(len(list))]
		switch r.IntN(4) {
		case 0, 1:
			if c.Purpose != ForFault {
				c.Value = min(max(c.Value, 1)<<r.IntN(8), 1<<34)
			}
		case 2:
			c.Ordinal += uint32(r.IntN(4))
		default:
			c.Ordinal -= min(c.Ordinal, uint32(r.IntN(4)))
		}
	}
	n := min(len(list), [...]int{0, 1, 2, 3, 5, 8, len(list) / 4, len(list) / 2}[r.IntN(8)])
	if from := r.IntN(len(list) - n + 1); r.IntN(2) == 0 {
		return slices.Delete(list, from, from+n)
	}
	for range n {
		i := r.IntN(len(list))
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// size is what gets smaller: the length of a list, then the sum of its values, which has two words
// because the value of a fault may have all bits of one.
func size(list []Choice) [3]uint64 {
	var high, low, carry uint64
	for _, c := range list {
		low, carry = bits.Add64(low, c.Value, 0)
		high += carry
	}
	return [3]uint64{uint64(len(list)), high, low}
}

// round tries everything once, and parts of each kind down to the size least.
func (s *Shrinker) round(least int) {
	before := len(s.Best)
	s.parts()
	s.tasks()
	s.windows()
	for _, k := range Kinds {
		s.thin(func(c Choice) bool { return c.Purpose == k.purpose }, len(s.Best), least)
	}
	if len(s.Best) < before || least > 1 {
		return // the values of choices that may be left out do not matter
	}
	for i := 0; i < len(s.Best); i++ {
		if s.Best[i].Purpose == ForFault {
			s.soften(i)
			continue
		}
		s.halve(i)
	}
}

// windows tries to do without whole parts of the run, if there are many choices.
func (s *Shrinker) windows() {
	if n := len(s.Best); n > manyChoices {
		s.thin(func(Choice) bool { return true }, n/2, n/16)
	}
}

// parts tries to do without whole kinds of choices, all that is late or in another order than on a
// real loop, and whole hosts.
func (s *Shrinker) parts() {
	for _, k := range Kinds {
		s.without(func(c Choice) bool { return c.Purpose == k.purpose })
	}
	s.without(func(c Choice) bool { return slices.Contains(inexact, c.Purpose) })
	s.without(func(c Choice) bool { return slices.Contains(inexact[:3], c.Purpose) })
	for _, h := range s.hosts() {
		s.without(func(c Choice) bool { return slices.Contains(c.hosts(), h) })
	}
}

// tasks tries to do without the choices at one place, such as a task or a way between two hosts.
func (s *Shrinker) tasks() {
	for _, place := range s.places() {
		s.without(func(c Choice) bool { return c.Place == place })
	}
}

// without tries to do without the choices that are of a kind, if there are any.
func (s *Shrinker) without(of func(c Choice) bool) {
	if slices.ContainsFunc(s.Best, of) {
		s.try(slices.DeleteFunc(slices.Clone(s.Best), of))
	}
}

// hosts returns the hosts of a choice: those of a link, or the one at which it was made.
func (c Choice) hosts() []uint64 {
	switch c.Purpose {
	case ForLatency, ForPacket:
		return []uint64{c.Place >> 16, c.Place & 0xffff}
	case ForStream:
		return []uint64{c.Place >> 16}
	case ForDisk, ForSync:
		return []uint64{c.Place}
	case ForFault:
		return []uint64{c.Place &^ DiskPlace >> 8}
	case ForChoose:
		return []uint64{c.Place >> 32}
	case ForPoll, ForCallback:
		return []uint64{c.Place >> 8}
	case ForOrder, ForShare, ForHold, ForStall:
		if c.Place < HostOrder {
			return []uint64{c.Place >> 40}
		}
	}
	return nil
}

// hosts returns the hosts of all choices, but for the one of the test.
func (s *Shrinker) hosts() (all []uint64) {
	for _, c := range s.Best {
		for _, h := range c.hosts() {
			if h > 1 && !slices.Contains(all, h) {
				all = append(all, h)
			}
		}
	}
	return all
}

// places returns the places of choices, such as a task or a way between two hosts, that have more
// than one.
func (s *Shrinker) places() (several []uint64) {
	count := make(map[uint64]int)
	for _, c := range s.Best {
		if count[c.Place]++; count[c.Place] == 2 {
			several = append(several, c.Place)
		}
	}
	return several
}

// soften tries a fault in place i that strikes at once, and one that is short.
func (s *Shrinker) soften(i int) {
	for _, part := range [2]uint64{0xffff << DelayShift, 0xffff << LongShift} {
		if n := len(s.Best); i < n && s.Best[i].Value&part != 0 {
			s.lower(i, s.Best[i].Value&^part)
		}
	}
}

// halve looks for the least value of the choice in place i, and takes it for granted
// that greater ones fail too.
func (s *Shrinker) halve(i int) {
	low, n := uint64(0), len(s.Best)
	for guess := uint64(1); len(s.Best) == n && s.Best[i].Value-low > 1; guess = low + (s.Best[i].Value-low)/2 {
		if !s.lower(i, guess) {
			low = guess
		}
		if s.Best[i].Value-low <= s.Best[i].Value/16 {
			return
		}
	}
}

// lower tries another value for the choice in place i.
func (s *Shrinker) lower(i int, value uint64) bool {
	list := slices.Clone(s.Best)
	list[i].Value = value
	return s.try(list)
}

// manyChoices is how many choices are so many that whole parts of the run are tried first.
const manyChoices = 40

// thin tries to do without the choices that are of a kind: without half of them, or most
// at once, a quarter, and so on to parts of the size least.
func (s *Shrinker) thin(of func(c Choice) bool, most, least int) {
	places := func() (found []int) {
		for i, c := range s.Best {
			if of(c) {
				found = append(found, i)
			}
		}
		return found
	}
	for size := min(most, (len(places())+1)/2); size >= least; size /= 2 {
		for from := 0; ; {
			at := places()
			if from >= len(at) {
				break
			}
			without := at[from:min(from+size, len(at))]
			var list []Choice
			for i, c := range s.Best {
				if !slices.Contains(without, i) {
					list = append(list, c)
				}
			}
			if !s.try(list) {
				from += size
			}
		}
	}
}

package sim

// This file has the search for a shorter list of choices that still fails: first
// without whole kinds of choices, faults first, then without halves, quarters and single
// ones of each kind, and then with smaller values.
//
// The law: a list counts only if its run failed in the same way. What is kept is not
// the list that was tried, but the choices that its run made, so what no longer
// happens falls out by itself.

import (
	"iter"
	"slices"
	"time"
)

// The limits of a search.
const (
	shrinkRuns = 500
	shrinkTime = "2500ms" // of real time, unless RONDO_SHRINK says otherwise
)

// A shrinker is a search.
type shrinker struct {
	best  []choice // the shortest list that failed
	runs  int
	until time.Time

	// What the caller of lists says of the list that it was given last.
	failed bool
	made   []choice
}

// lists ranges over the lists to try, each of which depends on how the one before it
// ended. It ends when best cannot be shortened, or the search has taken too long.
func (s *shrinker) lists() iter.Seq[[]choice] {
	return func(yield func([]choice) bool) {
		stopped := false
		try := func(list []choice) bool {
			if stopped || s.runs == shrinkRuns || time.Now().After(s.until) {
				stopped = true
				return false
			}
			s.runs++
			s.failed = false
			if !yield(list) {
				stopped = true
				return false
			}
			// A run that made choices that are no fewer is no progress.
			if s.failed && (len(s.made) < len(s.best) || len(s.made) == len(s.best) && total(s.made) < total(s.best)) {
				s.best = slices.Clone(s.made)
				return true
			}
			return false
		}
		if len(s.best) == 0 || try([]choice{}) {
			return
		}
		for before := s.size(); !stopped; before = s.size() {
			s.round(try)
			if s.size() == before {
				return
			}
		}
	}
}

// size is what gets smaller.
func (s *shrinker) size() [2]uint64 { return [2]uint64{uint64(len(s.best)), total(s.best)} }

// total sums up the values of a list, without overflow.
func total(list []choice) (sum uint64) {
	for _, c := range list {
		sum += min(c.value, 1<<40)
	}
	return sum
}

// round tries everything once.
func (s *shrinker) round(try func([]choice) bool) {
	for _, k := range purposes {
		of := func(c choice) bool { return c.purpose == k.purpose }
		if slices.ContainsFunc(s.best, of) {
			try(slices.DeleteFunc(slices.Clone(s.best), of))
		}
	}
	if n := len(s.best); n > manyChoices {
		every := func(choice) bool { return true }
		s.thin(every, n/2, n/16, try)
	}
	for _, k := range purposes {
		s.thin(func(c choice) bool { return c.purpose == k.purpose }, len(s.best), 1, try)
	}
	for i := 0; i < len(s.best); i++ {
		if s.best[i].purpose == forFault {
			s.soften(i, try)
			continue
		}
		s.halve(i, try)
	}
}

// soften tries a fault in place i that strikes at once, and one that is short.
func (s *shrinker) soften(i int, try func([]choice) bool) {
	for _, part := range [2]uint64{0xffff << delayShift, 0xffff << longShift} {
		if n := len(s.best); i < n && s.best[i].value&part != 0 {
			s.lower(i, s.best[i].value&^part, try)
		}
	}
}

// halve looks for the least value of the choice in place i, and takes it for granted
// that greater ones fail too.
func (s *shrinker) halve(i int, try func([]choice) bool) {
	low, n := uint64(0), len(s.best)
	for guess := uint64(1); len(s.best) == n && s.best[i].value-low > 1; guess = low + (s.best[i].value-low)/2 {
		if !s.lower(i, guess, try) {
			low = guess
		}
		if s.best[i].value-low <= s.best[i].value/16 {
			return
		}
	}
}

// lower tries another value for the choice in place i.
func (s *shrinker) lower(i int, value uint64, try func([]choice) bool) bool {
	list := slices.Clone(s.best)
	list[i].value = value
	return try(list)
}

// manyChoices is how many choices are so many that whole parts of the run are tried first.
const manyChoices = 40

// thin tries to do without the choices that are of a kind: without half of them, or most
// at once, a quarter, and so on to parts of the size least.
func (s *shrinker) thin(of func(c choice) bool, most, least int, try func([]choice) bool) {
	places := func() (found []int) {
		for i, c := range s.best {
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
			var list []choice
			for i, c := range s.best {
				if !slices.Contains(without, i) {
					list = append(list, c)
				}
			}
			if !try(list) {
				from += size
			}
		}
	}
}

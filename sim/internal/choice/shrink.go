package choice

// A Shrinker searches for a shorter list of choices that still fails: first without whole
// kinds of choices, faults first, and whole places, then without halves, quarters and single
// ones of each kind, and then with smaller values.
//
// The law: a list counts only if its run failed in the same way. The search goes on with the
// choices that the run made, not with the list that was tried, so choices that no longer
// happen fall out by themselves.

import (
	"iter"
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

	// What the caller of lists says of the list that it was given last.
	Failed bool
	Made   []Choice
}

// Lists ranges over the lists to try, each of which depends on how the one before it
// ended. It ends when best cannot be shortened, or the search has taken too long.
func (s *Shrinker) Lists() iter.Seq[[]Choice] {
	return func(yield func([]Choice) bool) {
		stopped := false
		try := func(list []Choice) bool {
			if stopped || time.Now().After(s.Until) {
				stopped = true
				return false
			}
			s.Runs++
			s.Failed = false
			if !yield(list) {
				stopped = true
				return false
			}
			// A run that made choices that are no fewer is no progress.
			if s.Failed && (len(s.Made) < len(s.Best) || len(s.Made) == len(s.Best) && total(s.Made) < total(s.Best)) {
				s.Best = slices.Clone(s.Made)
				return true
			}
			return false
		}
		if len(s.Best) == 0 || try([]Choice{}) {
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
func (s *Shrinker) size() [2]uint64 { return [2]uint64{uint64(len(s.Best)), total(s.Best)} }

// total sums up the values of a list, without overflow.
func total(list []Choice) (sum uint64) {
	for _, c := range list {
		sum += min(c.Value, 1<<40)
	}
	return sum
}

// round tries everything once.
func (s *Shrinker) round(try func([]Choice) bool) {
	for _, k := range Kinds {
		of := func(c Choice) bool { return c.Purpose == k.purpose }
		if slices.ContainsFunc(s.Best, of) {
			try(slices.DeleteFunc(slices.Clone(s.Best), of))
		}
	}
	for _, place := range s.places() {
		at := func(c Choice) bool { return c.Place == place }
		if slices.ContainsFunc(s.Best, at) {
			try(slices.DeleteFunc(slices.Clone(s.Best), at))
		}
	}
	if n := len(s.Best); n > manyChoices {
		every := func(Choice) bool { return true }
		s.thin(every, n/2, n/16, try)
	}
	for _, k := range Kinds {
		s.thin(func(c Choice) bool { return c.Purpose == k.purpose }, len(s.Best), 1, try)
	}
	for i := 0; i < len(s.Best); i++ {
		if s.Best[i].Purpose == ForFault {
			s.soften(i, try)
			continue
		}
		s.halve(i, try)
	}
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
func (s *Shrinker) soften(i int, try func([]Choice) bool) {
	for _, part := range [2]uint64{0xffff << DelayShift, 0xffff << LongShift} {
		if n := len(s.Best); i < n && s.Best[i].Value&part != 0 {
			s.lower(i, s.Best[i].Value&^part, try)
		}
	}
}

// halve looks for the least value of the choice in place i, and takes it for granted
// that greater ones fail too.
func (s *Shrinker) halve(i int, try func([]Choice) bool) {
	low, n := uint64(0), len(s.Best)
	for guess := uint64(1); len(s.Best) == n && s.Best[i].Value-low > 1; guess = low + (s.Best[i].Value-low)/2 {
		if !s.lower(i, guess, try) {
			low = guess
		}
		if s.Best[i].Value-low <= s.Best[i].Value/16 {
			return
		}
	}
}

// lower tries another value for the choice in place i.
func (s *Shrinker) lower(i int, value uint64, try func([]Choice) bool) bool {
	list := slices.Clone(s.Best)
	list[i].Value = value
	return try(list)
}

// manyChoices is how many choices are so many that whole parts of the run are tried first.
const manyChoices = 40

// thin tries to do without the choices that are of a kind: without half of them, or most
// at once, a quarter, and so on to parts of the size least.
func (s *Shrinker) thin(of func(c Choice) bool, most, least int, try func([]Choice) bool) {
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
			if !try(list) {
				from += size
			}
		}
	}
}

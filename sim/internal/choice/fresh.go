package choice

// Fresh choices are other ones than a seed made, in a run that is otherwise that of the seed: its
// network and the kinds of its faults stay. A search draws them where there are so many choices
// that they hold each other in place, so that none can be left out: another run may fail with few.
//
// The law: fresh choices are others than those of the seed, and a list of them repeats their run.

import "slices"

// A Fresh says which choices a run makes.
type Fresh struct {
	number uint64
	share  [purposes]float64 // of the choices of a purpose, how many need not be plain
}

// salt is what the numbers of f differ by from those of the seed.
func (f *Fresh) salt() uint64 {
	if f == nil {
		return 0
	}
	return Mix(f.number)
}

// keeps reports whether a choice with these random bits need not be plain.
func (f *Fresh) keeps(p Purpose, bits uint64) bool {
	return float64(bits>>11)/(1<<53) < f.share[p]
}

// orders reports whether a task may run in another order than on a real loop, or late.
func (f *Fresh) orders() bool {
	return slices.ContainsFunc(inexact, func(p Purpose) bool { return f.share[p] > 0 })
}

// fewer returns fresh choices with other values, and with fewer of some kinds.
func (f *Fresh) fewer(number uint64) *Fresh {
	r := Stream(number, ForShrinking)
	next := *f
	next.number = number
	for p := range next.share {
		if r.IntN(5) < 2 {
			next.share[p] = min(1, next.share[p]*[...]float64{0, 0.25, 0.5, 2}[r.IntN(4)])
		}
	}
	return &next
}

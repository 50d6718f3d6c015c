package main

// A histogram counts lengths of time in buckets that grow with what they hold, as
// HDR histograms do: a value costs one increment, the whole a fixed 30 KB, and
// what is read from it is never more than 1/64 too large.

import (
	"math"
	"math/bits"
	"time"
)

const (
	// fineBits is how many binary digits of a value are kept.
	fineBits = 6
	fine     = 1 << fineBits
)

// A histogram counts lengths of time. The zero value is empty. What is negative
// counts as 0.
type histogram struct {
	counts [(64 - fineBits) * fine]uint64
	n      uint64
	max    time.Duration
}

func (h *histogram) record(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d))]++
	h.n++
	h.max = max(h.max, d)
}

// add counts what other has counted.
func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// bucket returns the place of v. Values below fine have a bucket each; from there
// on each doubling has fine of them.
func bucket(v uint64) int {
	shift := max(bits.Len64(v)-fineBits-1, 0)
	return shift*fine + int(v>>shift)
}

// top returns the largest value whose place is i.
func top(i int) uint64 {
	shift := max(i/fine-1, 0)
	return uint64(i-shift*fine+1)<<shift - 1
}

// quantile returns a time that the share q of all values did not exceed: the
// largest that the bucket of the last of them can hold. It is 0 if there are
// none.
func (h *histogram) quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.n))), 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(time.Duration(top(i)), h.max)
		}
	}
	return h.max
}

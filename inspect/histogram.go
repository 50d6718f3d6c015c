package inspect

// Histograms count lengths of time: how long tasks were ready before they ran, and how long their
// steps took.
//
// The law: what is read from a histogram is the time or up to a quarter more, and never above the
// longest.

import (
	"math"
	"math/bits"
	"time"
)

// Times are how long tasks of one kind were ready before they ran, and how long their steps took.
type Times struct {
	// Kind is the function of the tasks, or their name if no more than eight tasks of that
	// function have names; "" for all tasks of the loop.
	Kind  string    `json:"kind,omitempty"`
	Steps Histogram `json:"steps"`
	Ready Histogram `json:"ready"` // before the steps that began after a wait
	// Worst is the longest time that one of them was ready; nil if none was.
	Worst *ReadyWait `json:"worst,omitempty"`
}

// A ReadyWait is a time in which a task could have run, but others did.
type ReadyWait struct {
	Task string        `json:"task"`
	For  time.Duration `json:"for"`
	// Ahead is how many steps of others were before it. The longest of these steps was one of the
	// task Longest, and took LongestFor. Longest is "" if none is known.
	Ahead      int           `json:"ahead"`
	Longest    string        `json:"longest,omitempty"`
	LongestFor time.Duration `json:"longest_for,omitempty"`
}

// A Histogram counts lengths of time. The bounds of its buckets double every four buckets, so a
// time read from it may be a quarter too long. Max and Sum are exact.
type Histogram struct {
	Count   uint64        `json:"count"`
	Sum     time.Duration `json:"sum"`
	Max     time.Duration `json:"max"`
	Buckets []uint64      `json:"buckets,omitempty"` // bucket i counts times up to Bound(i) that are in no earlier bucket
}

// Sizes of a histogram: the first bucket has times up to leastTime, and the last bucket has also
// all longer times.
const (
	leastTime   = 128 * time.Nanosecond
	mostBuckets = 160 // as far as 30 hours
)

// Bound returns the longest time that the i-th bucket of a Histogram counts.
func (Histogram) Bound(i int) time.Duration {
	return leastTime << (i / 4) * time.Duration(4+i%4) / 4
}

// bucketOf returns the bucket of a time.
func bucketOf(d time.Duration) int {
	if d <= leastTime {
		return 0
	}
	n := bits.Len64(uint64(d-1) / uint64(leastTime)) // the doubling, from 1
	low := leastTime << (n - 1)
	return min(4*(n-1)+int((d-1-low)/(low/4))+1, mostBuckets-1)
}

func (h *Histogram) add(d time.Duration) {
	d = max(d, 0)
	i := bucketOf(d)
	if i >= len(h.Buckets) {
		h.Buckets = append(h.Buckets, make([]uint64, i+1-len(h.Buckets))...)
	}
	h.Buckets[i]++
	h.Count++
	h.Sum += d
	h.Max = max(h.Max, d)
}

// Quantile returns a time that the fraction q of all times, from 0 to 1, did not exceed. It
// returns 0 if there are none.
func (h Histogram) Quantile(q float64) time.Duration {
	rank, seen := max(uint64(math.Ceil(q*float64(h.Count))), 1), uint64(0)
	for i, n := range h.Buckets {
		if seen += n; seen >= rank {
			return min(h.Bound(i), h.Max)
		}
	}
	return h.Max
}

package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Every place holds the values after the place before it, up to its top, and is
// no wider than 1/64 of what it holds.
func TestBuckets(t *testing.T) {
	places := len(new(histogram).counts)
	least := uint64(0)
	for i := range places {
		most := top(i)
		if bucket(least) != i || bucket(most) != i {
			t.Fatalf("place %d: %d is in %d and %d in %d", i, least, bucket(least), most, bucket(most))
		}
		if wide := most - least; wide*fine > least {
			t.Fatalf("place %d: from %d to %d is too wide", i, least, most)
		}
		least = most + 1
	}
	if least != math.MaxInt64+1 {
		t.Errorf("the places end at %d", least)
	}
}

// A quantile is at least what a sorted list says, and at most 1/64 more.
func TestQuantile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var h histogram
		values := make([]time.Duration, 1+random.IntN(300))
		for i := range values {
			values[i] = time.Duration(random.Int64() >> random.IntN(63))
			h.record(values[i])
		}
		slices.Sort(values)
		if h.max != values[len(values)-1] || h.n != uint64(len(values)) {
			t.Fatalf("round %d: max %d, n %d", round, h.max, h.n)
		}
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
			want := values[max(int(math.Ceil(q*float64(len(values))))-1, 0)]
			if got := h.quantile(q); got < want || got-want > want/fine {
				t.Fatalf("round %d: the quantile %v of %d values is %d, want %d", round, q, len(values), got, want)
			}
		}
	}
}

func TestHistogramOfLittle(t *testing.T) {
	var h histogram
	if got := h.quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
	h.record(-5)
	if got := h.quantile(0.5); got != 0 || h.n != 1 {
		t.Errorf("the median of a negative time is %v of %d", got, h.n)
	}
	h.record(time.Millisecond)
	if got := h.quantile(1); got != time.Millisecond {
		t.Errorf("the largest of all is %v", got)
	}
}

package sim

// This file has the ways in which a seed chooses what runs next, and all the
// other randomness that comes from a seed.

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A purpose is what a stream of random numbers is for. Each has a stream of its
// own, so that one more number drawn for one does not change the others.
type purpose uint64

const (
	forClock purpose = iota + 1
	forOrder
	forBody
)

// stream gives the random numbers that seed has for a purpose.
func stream(seed uint64, p purpose) *rand.Rand {
	return rand.New(rand.NewPCG(mix(seed), mix(seed^mix(uint64(p)))))
}

// mix spreads the bits of x: neighbours have nothing in common afterwards. It is
// the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom
// Number Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// A strategy chooses one of n things that can run. Their places are those of the
// loop's queue: the oldest is in place 0 until choices have mixed them. who gives
// the number of the task at a place, or 0 for a callback.
type strategy func(n int, who func(i int) uint64) int

// seeded gives the strategy of a seed. No one way of choosing finds all
// mistakes, so among eight seeds in a row four choose evenly, and the others
// each have a bias that leads further into one corner. Seed 0 is the order of a
// real loop.
func seeded(seed uint64) strategy {
	r := stream(seed, forOrder)
	if seed == 0 {
		return oldest
	}
	switch seed % 8 {
	case 2:
		return priorities(r, 1)
	case 4:
		return mostly(newest, 4, r)
	case 6:
		return priorities(r, 2)
	case 0:
		return mostly(oldest, 4, r)
	}
	return evenly(r)
}

func oldest(int, func(i int) uint64) int     { return 0 }
func newest(n int, _ func(i int) uint64) int { return n - 1 }

func evenly(r *rand.Rand) strategy {
	return func(n int, _ func(i int) uint64) int { return r.IntN(n) }
}

// mostly is s but for one choice in every, which is even.
func mostly(s strategy, every int, r *rand.Rand) strategy {
	return func(n int, who func(i int) uint64) int {
		if r.IntN(every) == 0 {
			return r.IntN(n)
		}
		return s(n, who)
	}
}

// crowd is among how many priorities does not look for the highest: it would
// take too long.
const crowd = 1000

// priorities gives each task a priority by chance, and runs the task with the
// highest one. At some moments, chosen by chance as well, the task that would run
// gets the lowest. It finds what happens only if the same tasks come late again
// and again (Burckhardt and others: A Randomized Scheduler with Probabilistic
// Guarantees of Finding Bugs, 2010).
func priorities(r *rand.Rand, changes int) strategy {
	salt := r.Uint64()
	// How long the run will be is not known. So the changes are spread evenly
	// over the orders of magnitude up to 4096 choices.
	when := make([]int, changes)
	for i := range when {
		when[i] = 1 + int(math.Exp2(12*r.Float64()))
	}
	lowered := map[uint64]uint64{}
	priority := func(id uint64) uint64 {
		if p := lowered[id]; p != 0 {
			return p
		}
		return mix(salt^id) | 1<<63
	}
	choices := 0
	return func(n int, who func(i int) uint64) int {
		if n > crowd {
			return r.IntN(n)
		}
		for choices++; ; {
			first, highest := 0, uint64(0)
			for i := range n {
				if p := priority(who(i)); p > highest {
					first, highest = i, p
				}
			}
			i := slices.Index(when, choices)
			if i < 0 {
				return first
			}
			when = slices.Delete(when, i, i+1)
			lowered[who(first)] = 1<<62 - uint64(choices)*8 + uint64(len(when))
		}
	}
}

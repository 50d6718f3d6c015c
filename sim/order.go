package sim

// This file has the ways in which a seed chooses what runs next, and all the
// other randomness that comes from a seed.

import "math/rand/v2"

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
// loop's queue: the oldest is in place 0 until choices have mixed them.
type strategy func(n int) int

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
		return mostly(newest, 16, r)
	case 4:
		return mostly(newest, 4, r)
	case 6:
		return mostly(oldest, 4, r)
	case 0:
		return notOldest(r)
	}
	return r.IntN
}

func oldest(int) int   { return 0 }
func newest(n int) int { return n - 1 }

// mostly is s but for one choice in every, which is even.
func mostly(s strategy, every int, r *rand.Rand) strategy {
	return func(n int) int {
		if r.IntN(every) == 0 {
			return r.IntN(n)
		}
		return s(n)
	}
}

// notOldest keeps waiting what would be next.
func notOldest(r *rand.Rand) strategy {
	return func(n int) int { return 1 + r.IntN(n-1) }
}

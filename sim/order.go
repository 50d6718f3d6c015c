package sim

// This file has the ways in which a seed chooses what runs next, and all the
// other randomness that comes from a seed.

import "math/rand/v2"

// A purpose is what a stream of random numbers is for. Each has a stream of its
// own, so that one more number drawn for one does not change the others.
type purpose uint64

const (
	forClock purpose = iota + 1
	forStrategy
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

// seeded gives the order that a seed stands for. No one way of choosing finds
// all mistakes, so the seed chooses the way as well: half of all seeds choose
// evenly; the others have a bias, which goes further into one corner.
func seeded(seed uint64) func(n int) int {
	r := stream(seed, forOrder)
	switch stream(seed, forStrategy).IntN(8) {
	case 0:
		// What has become ready last runs first.
		return func(n int) int { return n - 1 }
	case 1:
		// The same, but not always.
		return func(n int) int {
			if r.IntN(4) == 0 {
				return r.IntN(n)
			}
			return n - 1
		}
	case 2:
		// What has waited longest waits on.
		return func(n int) int { return 1 + r.IntN(n-1) }
	case 3:
		// The order of a real loop, with an exception now and then.
		return func(n int) int {
			if r.IntN(8) == 0 {
				return r.IntN(n)
			}
			return 0
		}
	default:
		return r.IntN
	}
}

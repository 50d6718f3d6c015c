package choice

// Random numbers are a function of a seed and of what they are for.

import (
	"math/bits"
	"math/rand/v2"
)

// Stream returns the random numbers of a seed for a purpose.
func Stream(seed uint64, p Purpose) *rand.Rand {
	return rand.New(rand.NewPCG(Mix(seed), Mix(seed^Mix(uint64(p)))))
}

// Mix spreads the bits of x, so that neighbours have nothing in common. It is the
// finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Scale returns a number below n, each as likely as the others if the bits are random.
func Scale(random, n uint64) uint64 {
	high, _ := bits.Mul64(random, n)
	return high
}

package order

import (
	"math/rand/v2"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// A strategy chooses one of n things that can run. Their places are those of the
// loop's queue: the oldest is in place 0 until choices have mixed them. who returns
// the number of the task at a place, or 0 for a callback.
//
// The loop then runs what was chosen, after it has moved what was in place 0 to the
// chosen place.
type strategy func(n int, who func(i int) uint64) int

// seeded returns the strategy of a seed. No single way of choosing finds all
// mistakes. So of eight seeds in a row four choose evenly, and each of the others
// has a bias that reaches further into one corner. Seed 0 is the order of a real
// loop.
func seeded(c *choice.Choices, host uint64) strategy {
	r := c.Stream(c.Seed^host<<32, choice.ForOrder)
	if c.Seed == 0 {
		return oldest
	}
	switch c.Seed % 8 {
	case 2:
		return newPriorities(r, 1).choose
	case 4:
		return mostly(newest, 4, r)
	case 6:
		return newPriorities(r, 2).choose
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

// mostly is s, except that one choice in every is even.
func mostly(s strategy, every int, r *rand.Rand) strategy {
	return func(n int, who func(i int) uint64) int {
		if r.IntN(every) == 0 {
			return r.IntN(n)
		}
		return s(n, who)
	}
}

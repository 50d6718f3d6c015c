// Package surplus says how many idle workers of a loop are too many, so that a burst of
// tasks does not leave its stacks behind for ever.
//
// The law: those that were idle throughout After are surplus, but for Keep of them.
package surplus

import (
	"math"
	"time"
)

// Workers that were idle throughout After are retired, but for Keep of them.
const (
	After = int64(5 * time.Second)
	Keep  = 256
)

// A Count is that of one loop. The zero value has none.
type Count struct {
	N     int   // how many are to be retired
	Stuck int   // how many of them could not be when it was last tried
	Due   bool  // the loop is to try
	Since int64 // the clock when least was begun anew
	least int   // the fewest that were idle at once since
}

// Idle notes that n workers are idle.
func (c *Count) Idle(n int) { c.least = min(c.least, n) }

// Retired notes that one was retired and n are still idle.
func (c *Count) Retired(n int) {
	c.N--
	c.Idle(n)
}

// Look sets how many are to be retired, when it is time for that; n are idle.
func (c *Count) Look(now int64, n int) {
	if now-c.Since >= After {
		surplus := max(0, c.least-Keep)
		*c = Count{N: surplus, Due: surplus > 0, Since: now, least: n}
	}
}

// At returns when a loop that sleeps is to look, with n workers idle.
func (c *Count) At(n int) int64 {
	if n <= Keep+c.Stuck {
		return math.MaxInt64
	}
	return c.Since + After
}

// Clear forgets who is surplus.
func (c *Count) Clear() { c.N, c.Due = 0, false }

package order

// Shares. A task that has used its share gives the others a turn at any operation that may
// suspend, and on a real loop the clock decides at which one. So a seed may draw it: a program
// that checks something, calls such an operation, and then relies on what it has checked is wrong,
// and only a turn lost just there shows it.
//
// The law: one seed in four has the usual share, which is a constant, and so has an order of
// Explore. In the others a turn may be lost at each operation, and a list has those that were.

import (
	"math/rand/v2"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// A share is how likely a task gives others a turn at an operation. The zero value is the usual
// share.
type share struct {
	ends int // in millionths
	rand *rand.Rand
}

// shareOf returns the share of the tasks of a host in a run.
func shareOf(c *choice.Choices, host uint64) share {
	if !c.Shares {
		return share{}
	}
	ends := [...]int{0, 30_000, 250_000, 500_000}[c.Config(choice.ConfigShares)%4]
	if ends == 0 {
		return share{}
	}
	return share{ends, c.Stream(c.Seed^host<<32, choice.ForShare)}
}

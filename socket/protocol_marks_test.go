package socket

import (
	"math"
	"testing"
)

// TestProtocolMarks: what High and Low are if they are not set, and what is just allowed.
func TestProtocolMarks(t *testing.T) {
	for _, c := range []struct {
		p         *Protocol
		high, low int
	}{
		{&Protocol{}, 64 << 10, 16 << 10},
		{&Protocol{High: 1000}, 1000, 250},
		{&Protocol{Low: 1000}, 4000, 1000},
		{&Protocol{High: 3}, 3, 0},
		{&Protocol{Low: math.MaxInt/4 + 1}, math.MaxInt, math.MaxInt/4 + 1},
		{&Protocol{Low: math.MaxInt}, math.MaxInt, math.MaxInt},
		{&Protocol{High: 5, Low: 5, Limit: 5}, 5, 5},
	} {
		if high, low := c.p.limits("Serve"); high != c.high || low != c.low {
			t.Errorf("High %d and Low %d, want %d and %d", high, low, c.high, c.low)
		}
	}
}

package socket

import "testing"

// TestShareOf: the shares of a limit are the limit together, unless there are more parts
// than it, and differ by one at most.
func TestShareOf(t *testing.T) {
	for _, c := range []struct{ limit, n, want int }{{10, 4, 10}, {8, 4, 8}, {1, 1, 1}, {7, 2, 7}, {2, 4, 4}} {
		sum, least, most := 0, c.limit, 0
		for i := range c.n {
			share := shareOf(c.limit, i, c.n)
			sum, least, most = sum+share, min(least, share), max(most, share)
		}
		if sum != c.want || most-least > 1 || least < 1 {
			t.Errorf("%d for %d parts: %d in all, between %d and %d", c.limit, c.n, sum, least, most)
		}
	}
}

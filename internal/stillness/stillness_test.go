package stillness

import (
	"math"
	"testing"
)

// TestLong: it is long once, after the limit, and a step begins another time.
func TestLong(t *testing.T) {
	var still Time
	for _, c := range []struct {
		now   int64
		steps uint64
		long  bool
		until int64
	}{
		{100, 7, false, 110},
		{109, 7, false, 110},
		{110, 7, true, math.MaxInt64},
		{200, 7, false, math.MaxInt64},
		{201, 8, false, 211},
		{210, 9, false, 220},
		{230, 9, true, math.MaxInt64},
	} {
		if long, until := still.Long(c.now, c.steps, 10); long != c.long || until != c.until {
			t.Errorf("at %d, step %d: %v until %d, want %v until %d", c.now, c.steps, long, until, c.long, c.until)
		}
	}
}

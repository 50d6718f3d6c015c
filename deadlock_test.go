package rondo

import "testing"

// TestStillness: it is long once, after the limit, and a step begins another time.
func TestStillness(t *testing.T) {
	var still stillness
	for _, c := range []struct {
		now   int64
		steps uint64
		long  bool
		until int64
	}{
		{100, 7, false, 110},
		{109, 7, false, 110},
		{110, 7, true, never},
		{200, 7, false, never},
		{201, 8, false, 211},
		{210, 9, false, 220},
		{230, 9, true, never},
	} {
		if long, until := still.long(c.now, c.steps, 10); long != c.long || until != c.until {
			t.Errorf("at %d, step %d: %v until %d, want %v until %d", c.now, c.steps, long, until, c.long, c.until)
		}
	}
}

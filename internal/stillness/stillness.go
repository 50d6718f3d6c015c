// Package stillness measures how long nothing has happened in a loop.
//
// The law: of each time in which nothing happens it says once that it is long.
package stillness

import "math"

// A Time is one in which nothing happens. The zero value has not begun.
type Time struct {
	since int64  // the clock when it began
	steps uint64 // the loop's steps then; another number: it is over
	long  bool   // Long has said so
}

// Long reports whether nothing has happened for limit, as the clock and the number of
// the loop's steps say; once. Otherwise until is when to ask again.
func (t *Time) Long(now int64, steps uint64, limit int64) (long bool, until int64) {
	if t.since == 0 || t.steps != steps {
		*t = Time{since: now, steps: steps}
	}
	switch {
	case t.long:
		return false, math.MaxInt64
	case now-t.since < limit:
		return false, t.since + limit
	}
	t.long = true
	return true, math.MaxInt64
}

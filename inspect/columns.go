package inspect

// Columns are memory for those facts about a portion of tasks that a snapshot does not
// keep. The next portion uses them again, so that a snapshot of a million tasks leaves
// little for the garbage collector.

import "slices"

// A columnRoom has slices of numbers, one for each of some tasks. They are gone when the
// next portion is read.
type columnRoom struct {
	room []uint64
	used int
	all  int // how many numbers all of them have, also those for which there was no room
}

// reset has all columns be gone.
func (c *columnRoom) reset() {
	if c.all > len(c.room) {
		c.room = make([]uint64, c.all)
	}
	c.used, c.all = 0, 0
}

// column returns a column of n zeros.
func (r *reader) column(n int) []uint64 {
	c := &r.columns
	c.all += n
	if n > len(c.room)-c.used {
		return make([]uint64, n)
	}
	out := c.room[c.used : c.used+n : c.used+n]
	c.used += n
	clear(out)
	return out
}

// sized returns n zero values, in the room of others that are not used any more.
func sized[T any](room *[]T, n int) []T {
	*room = slices.Grow((*room)[:0], n)[:n]
	clear(*room)
	return *room
}

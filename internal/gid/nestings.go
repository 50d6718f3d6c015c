package gid

// Nestings is a table of coroutines, each of which is in something: a task. A
// change takes the same time however many there are.
//
// A coroutine with the record of another takes its place, because that one has
// ended. So there are never more than the program has had goroutines at once.
//
// The zero value is empty. One goroutine at a time may use it.
type Nestings[In any] struct {
	Places []Nesting[In] // first, for those who look from outside

	byRecord map[uintptr]int32 // the place of each, plus one
	free     int32             // the first free place, plus one; next leads to the others
}

// A Nesting is a place in the table. A free one is all zero, but for next.
type Nesting[In any] struct {
	ID     uint64
	Record uintptr
	In     *In

	first      *int32 // the first of those in the same, plus one
	next, prev int32  // its neighbours among those, plus one
}

// Put notes that the coroutine with the given number and record is in what is given,
// and in nothing else any more. first is where the table keeps which ones are in it:
// 0 at the beginning. It does nothing where records cannot be read.
func (c *Nestings[In]) Put(in *In, first *int32, id uint64, record uintptr) {
	if record == 0 {
		return
	}
	i := c.byRecord[record]
	switch {
	case i == 0:
		i = c.place()
	case c.Places[i-1].ID == id && c.Places[i-1].In == in:
		return
	default:
		c.unlink(&c.Places[i-1])
	}
	c.Places[i-1] = Nesting[In]{ID: id, Record: record, In: in, first: first, next: *first}
	if *first != 0 {
		c.Places[*first-1].prev = i
	}
	*first, c.byRecord[record] = i, i
}

// place returns a free place, plus one.
func (c *Nestings[In]) place() int32 {
	if c.byRecord == nil {
		c.byRecord = make(map[uintptr]int32)
	}
	i := c.free
	if i == 0 {
		c.Places = append(c.Places, Nesting[In]{})
		return int32(len(c.Places))
	}
	c.free = c.Places[i-1].next
	return i
}

// unlink takes p from among its neighbours.
func (c *Nestings[In]) unlink(p *Nesting[In]) {
	if p.next != 0 {
		c.Places[p.next-1].prev = p.prev
	}
	if p.prev != 0 {
		c.Places[p.prev-1].next = p.next
	} else {
		*p.first = p.next
	}
}

// Drop takes out of the table all that are in the one thing that first belongs to.
func (c *Nestings[In]) Drop(first *int32) {
	for i := *first; i != 0; {
		p := &c.Places[i-1]
		delete(c.byRecord, p.Record)
		next := p.next
		*p = Nesting[In]{next: c.free}
		c.free, i = i, next
	}
	if *first = 0; len(c.byRecord) == 0 {
		*c = Nestings[In]{}
	}
}

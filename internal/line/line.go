// Package line has the line of those that wait for an RWMutex.
package line

// A Line is a list of runs, in the order in which their first members came. The zero
// value is empty.
type Line[L any] struct {
	head, tail *Run[L]
	spare      *Run[L] // what has been a run and can be one again
}

// A Run is a stretch of a line in which all ask for the same. Its members wait in
// List. Counted are those and the ones that were cancelled there and have not run
// since; who uses the line counts them.
type Run[L any] struct {
	List    L
	Write   bool // they ask to write, and not to read
	Counted int
	next    *Run[L]
}

// Head returns the first run, or nil.
func (l *Line[L]) Head() *Run[L] { return l.head }

// Last returns the run at the end of the line, or adds one if that is not of those
// that ask for the same.
func (l *Line[L]) Last(write bool) *Run[L] {
	if l.tail != nil && l.tail.Write == write {
		return l.tail
	}
	r := l.spare
	if r == nil {
		r = new(Run[L])
	} else {
		l.spare, r.next = r.next, nil
	}
	r.Write = write
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.next = r
	}
	l.tail = r
	return r
}

// Shorten takes away the first run. One that still counts a member is not used
// again: that member will come and count itself off.
func (l *Line[L]) Shorten() {
	r := l.head
	l.head = r.next
	if l.head == nil {
		l.tail = nil
	}
	r.next = nil
	if r.Counted == 0 {
		r.next, l.spare = l.spare, r
	}
}

package list

import "slices"

// A Lazy has elements in the order in which they were added, from which an element
// is removed by a mark in the element itself. The marked ones are dropped when they
// are half of all, so they do not pile up, and a removal costs constant time on
// average. The zero value is empty.
type Lazy[T any] struct {
	all    []*T
	marked int
}

// Add adds e.
func (l *Lazy[T]) Add(e *T) { l.all = append(l.all, e) }

// Empty reports whether nothing was added that is still in the list.
func (l *Lazy[T]) Empty() bool { return len(l.all) == 0 }

// Marked is called when an element was marked. isMarked reports whether one is.
func (l *Lazy[T]) Marked(isMarked func(e *T) bool) {
	if l.marked++; 2*l.marked >= len(l.all) {
		l.all = slices.DeleteFunc(l.all, isMarked)
		l.marked = 0
	}
}

// Take removes all elements and returns them; those that are marked may be among
// them.
func (l *Lazy[T]) Take() []*T {
	all := l.all
	*l = Lazy[T]{}
	return all
}

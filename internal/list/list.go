// Package list has doubly linked lists whose links stand in the elements, so
// that an element enters and leaves a list in constant time and without an
// allocation. It is the one implementation behind the tasks of a loop, the
// children of a scope and the tasks in a WaitList.
//
// The law: an element is in at most one list by the same links, and its links
// are nil while it is in none. An element that is in a list is in a ring with
// the others, the first after the last.
//
// A caller names the links by their offset in the element, which is constant
// for a list. So everything here is inlined, and an element may have links for
// several lists.
package list

import (
	"iter"
	"unsafe"
)

// Links are an element's neighbours in a list: nil while it is in none.
type Links[T any] struct {
	Next *T
	Prev *T
}

// A List has elements of one type, in the order in which they were added. The
// zero value is empty.
type List[T any] struct {
	first *T
}

// links returns the links of e that stand at the given offset in it.
func links[T any](e *T, at uintptr) *Links[T] {
	return (*Links[T])(unsafe.Add(unsafe.Pointer(e), at))
}

// First returns the element that was added first, or nil.
func (l *List[T]) First() *T { return l.first }

// Add puts e at the end of the list. It must be in no list by these links.
func (l *List[T]) Add(e *T, at uintptr) {
	first, own := l.first, links(e, at)
	if first == nil {
		own.Next, own.Prev = e, e
		l.first = e
		return
	}
	head := links(first, at)
	own.Next, own.Prev = first, head.Prev
	links(head.Prev, at).Next = e
	head.Prev = e
}

// Remove takes e out of the list, in which it must be.
func (l *List[T]) Remove(e *T, at uintptr) {
	own := links(e, at)
	if own.Next == e {
		l.first = nil
	} else {
		if l.first == e {
			l.first = own.Next
		}
		links(own.Next, at).Prev, links(own.Prev, at).Next = own.Prev, own.Next
	}
	own.Next, own.Prev = nil, nil
}

// Longer reports whether the list has more than n elements.
func (l *List[T]) Longer(n int, at uintptr) bool {
	for range l.All(at) {
		if n--; n < 0 {
			return true
		}
	}
	return false
}

// All ranges over the elements in their order. The body may remove the element
// that it is given, and no other.
func (l *List[T]) All(at uintptr) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		e := l.first
		if e == nil {
			return
		}
		for last := links(e, at).Prev; ; {
			next := links(e, at).Next
			if !yield(e) || e == last {
				return
			}
			e = next
		}
	}
}

package rondo

// A loop knows which tasks run next: they stand in its queue. With many tasks their records,
// goroutines and stacks are no longer in the processor's caches, so the loop asks for them some
// steps ahead, while other tasks run.
//
// The law: prefetching reads only records of the loop, and changes nothing but how long a switch
// takes. What it asks for may be stale: a stack that has moved, a goroutine that has ended.

import (
	"unsafe"

	"github.com/rondo-go/rondo/internal/prefetch"
)

// prefetchFrom is the length of the queue from which prefetching is worth its cost. The records
// of fewer tasks stay in the caches.
const prefetchFrom = 16

// prefetch asks for the memory that the next switches touch. Each record is asked for a step or
// two before a pointer in it is followed, so nothing here waits for memory: first the task,
// then its worker, then the rest.
//
//go:noinline
func (l *Loop) prefetch() {
	// Where an address is not known, s has that of an entry of the queue, which is in the
	// caches. With 0 there, which is not mapped, the processor would search the page tables
	// each time.
	at := uintptr(unsafe.Pointer(l.queue.At(6)))
	s := prefetch.Switch{Task: at, Worker: at, Slot: at, Function: at, Captured: [2]uintptr{at, at}, Goroutine: at, Stack: at}
	if t := l.queue.At(6).task; t != nil {
		s.Task = uintptr(unsafe.Pointer(t))
	}
	if t := l.queue.At(5).task; t != nil && t.worker != nil {
		s.Worker = uintptr(unsafe.Pointer(t.worker))
	}
	if w := l.parked(4); w != nil {
		s.Slot, s.Goroutine, s.Stack = uintptr(unsafe.Pointer(w.at)), w.g, w.stack
	}
	if w := l.parked(3); w != nil {
		s.Function = uintptr(w.at.function())
	}
	if w := l.parked(2); w != nil {
		if two, ok := captured(w.at.function()); ok {
			s.Captured = two
		}
	}
	prefetch.Ask(&s)
}

// parked returns the worker of the task at place i of the queue, if it is parked.
func (l *Loop) parked(i int) *worker {
	t := l.queue.At(i).task
	if t == nil || t.worker == nil || t.worker.at == nil {
		return nil
	}
	return t.worker
}

// function returns the function value that switches to the goroutine parked in s.
func (s *slot) function() unsafe.Pointer {
	if s.inner {
		return *(*unsafe.Pointer)(unsafe.Pointer(&s.yield))
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&s.next))
}

// captured returns the two words behind the first one of a function value. In iter.Pull these
// point to the state of the pull and to its coroutine. In another Go release they may be
// anything, and no part of the value at all: they are read only if they are on the page on which
// it begins, so that they are memory of the program in any case.
func captured(f unsafe.Pointer) (two [2]uintptr, ok bool) {
	const page, size = 4096, unsafe.Sizeof([3]uintptr{})
	if f == nil || uintptr(f)%page > page-size {
		return two, false
	}
	words := (*[3]uintptr)(f)
	return [2]uintptr{words[1], words[2]}, true
}

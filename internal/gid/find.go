//go:build amd64 || arm64

package gid

import (
	"iter"
	"runtime"
	"slices"
	"unsafe"
)

// The places where the runtime keeps what this package reads. No place is
// assumed: each is looked for when the program starts, on goroutines and
// coroutines made for that, and taken only if it is the one place that holds the
// right value on all of them.

// load reads the word at the given offset of the running goroutine's record.
// It is written in assembly, because only assembly can name the g register.
func load(offset uintptr) uint64

// record returns the address of the running goroutine's record.
func record() uintptr

// word reads the word at an address. Words that are read one after the other are
// read in that order, also if other goroutines change them meanwhile.
func word(at uintptr) uintptr

// readable says that record returns an address.
const readable = true

const (
	recordWords = 48       // the words of a record that are searched; all records are longer
	frameWords  = 16       // the words at the end of a coroutine's stack that are searched
	heapBytes   = 64 << 20 // how large the heap is at most when the program starts
	stackEnd    = 8        // where a record has the end of its stack; runtime/cgo relies on it
)

var (
	offset    = findOffset()    // where a record has the number; 0 if it was not found
	corostart = findCorostart() // where the runtime's function begins that all coroutines start from
	startAt   = findStart()     // where a record has the function that its goroutine started from
	switchAt  = findSwitch()    // how far before the end of a coroutine's stack its runtime.coro stands
	walks     = switchAt != 0   // coroutines are told apart, and resumer works
)

// only returns the candidate that all of found have, or 0 if there is none or more
// than one.
func only(found ...[]uintptr) uintptr {
	left := slices.DeleteFunc(found[0], func(at uintptr) bool {
		return slices.ContainsFunc(found, func(f []uintptr) bool { return !slices.Contains(f, at) })
	})
	if len(left) != 1 {
		return 0
	}
	return left[0]
}

// inGoroutine returns what f returns on a goroutine of its own.
func inGoroutine[T any](f func() T) T {
	done := make(chan T)
	go func() { done <- f() }()
	return <-done
}

// inCoroutine returns what f returns in a coroutine of its own, which has been
// resumed before: until then the runtime's record of it has other values.
func inCoroutine[T any](f func() T) T {
	next, stop := iter.Pull2(func(yield func(int, T) bool) {
		var none T
		if yield(0, none) {
			yield(0, f())
		}
	})
	defer stop()
	next()
	_, v, _ := next()
	return v
}

// wordsWith returns the offsets at which the calling goroutine's record has the
// given word.
func wordsWith(v uint64) (found []uintptr) {
	for at := uintptr(8); at < recordWords*8; at += 8 {
		if load(at) == v {
			found = append(found, at)
		}
	}
	return found
}

func findOffset() uintptr {
	own := func() []uintptr { return wordsWith(slowID()) }
	return only(own(), inGoroutine(own), inGoroutine(own))
}

func findCorostart() uintptr {
	return inCoroutine(func() uintptr {
		var pcs [16]uintptr
		for _, pc := range pcs[:runtime.Callers(0, pcs[:])] {
			if f := runtime.FuncForPC(pc); f != nil && f.Name() == "runtime.corostart" {
				return f.Entry()
			}
		}
		return 0
	})
}

func findStart() uintptr {
	if corostart == 0 {
		return 0
	}
	starts := func() []uintptr { return wordsWith(uint64(corostart)) }
	at := only(inCoroutine(starts), inCoroutine(starts))
	if slices.Contains(starts(), at) {
		return 0
	}
	return at
}

// findSwitch looks through the frame of runtime.corostart, which is the first on a
// coroutine's stack, for a pointer to a runtime.coro. That record begins with the
// goroutine that is parked in it, which is the one that has resumed the coroutine.
func findSwitch() uintptr {
	if startAt == 0 || offset == 0 {
		return 0
	}
	search := func() []uintptr {
		resumer := record()
		return inCoroutine(func() []uintptr { return pointerTo(resumer) })
	}
	return only(search(), inGoroutine(search), inCoroutine(search))
}

// pointerTo returns how far before the end of the calling coroutine's stack a
// pointer stands that points to a word with the given value. It is the one nearest
// to the end, because others belong to the function that corostart calls.
func pointerTo(value uintptr) []uintptr {
	near := uintptr(unsafe.Pointer(new([4]*int)))
	end := word(record() + stackEnd)
	for at := uintptr(8); at < frameWords*8; at += 8 {
		p := word(end - at)
		// What does not point to the heap must not be followed. The heap is small and
		// in one piece when the program starts.
		if p%8 == 0 && p-near+heapBytes/2 < heapBytes && word(p) == value {
			return []uintptr{at}
		}
	}
	return nil
}

// isCoroutine reports whether the goroutine with the given record was made by
// iter.Pull.
func isCoroutine(record uintptr) bool { return word(record+startAt) == corostart }

// resumer returns the record of the goroutine that has resumed a coroutine and
// waits until it yields. The coroutine must be the caller, or one that waits for
// the caller in this way. Its stack may be moved meanwhile, so what was read counts
// only if the stack's end is the same after it.
func resumer(record uintptr) uintptr {
	for {
		end := word(record + stackEnd)
		coro := word(end - switchAt)
		if word(record+stackEnd) == end {
			return word(coro)
		}
	}
}

//go:build amd64 || arm64

package gid

import (
	"iter"
	"runtime"
	"strings"
)

// load reads the word at the given offset of the running goroutine's record.
// It is written in assembly, for only assembly can name the g register.
func load(offset uintptr) uint64

// record gives the address of the running goroutine's record.
func record() uintptr

// entry follows the frame pointers of the calling goroutine to its first
// function and gives an address inside the code of that function. The walk is
// assembly so that nothing can move the stack under it.
func entry() uintptr

// recordWords bounds the search for the number: the part of the record in
// which it has always been, and well inside the record's size.
const recordWords = 40

var (
	offset = findOffset() // where the number stands; 0 if it was not found
	walks  = offset != 0 && findWalk()
)

// findOffset looks for the word that equals the goroutine's number on three
// goroutines, the last two of them made for it. A chance hit would have to
// follow the number on all three.
func findOffset() uintptr {
	candidates := matches(nil)
	for range 2 {
		done := make(chan []uintptr)
		go func() { done <- matches(candidates) }()
		candidates = <-done
	}
	if len(candidates) == 1 {
		return candidates[0]
	}
	return 0
}

// matches gives those of the offsets, or of all if there are none yet, at which
// the calling goroutine's record holds its number.
func matches(among []uintptr) (found []uintptr) {
	if among == nil {
		for i := uintptr(1); i < recordWords; i++ {
			among = append(among, i*8)
		}
	}
	id := slowID()
	for _, at := range among {
		if load(at) == id {
			found = append(found, at)
		}
	}
	return found
}

// findWalk makes a coroutine and checks that the walk tells it from this
// goroutine.
func findWalk() bool {
	if inCorostart(entry()) {
		return false
	}
	next, stop := iter.Pull(func(yield func(bool) bool) { yield(inCorostart(entry())) })
	defer stop()
	ok, _ := next()
	return ok
}

// inCorostart tells whether pc is the place in runtime.corostart from which it
// calls a coroutine's body: the one place from which every coroutine starts.
func inCorostart(pc uintptr) bool { return pc == start && start != 0 }

// start is that place, as the first coroutine sees it; 0 if what it sees is not
// in runtime.corostart after all.
var start = findStart()

func findStart() uintptr {
	next, stop := iter.Pull(func(yield func(uintptr) bool) { yield(entry()) })
	defer stop()
	pc, _ := next()
	if f := runtime.FuncForPC(pc); f == nil || !strings.HasPrefix(f.Name(), "runtime.corostart") {
		return 0
	}
	return pc
}

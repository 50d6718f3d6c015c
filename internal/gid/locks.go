//go:build amd64 || arm64

package gid

import (
	"runtime"
	"slices"
	"sync"
)

// The number of times that a goroutine is locked to its thread. The runtime counts
// that in its record of the thread, which the record of a locked goroutine leads to.
// Where is looked for when it is asked for the first time, because to lock a
// goroutine makes the runtime start a thread.

// Locks returns how often the calling goroutine is locked to its thread: by
// runtime.LockOSThread in the lower half, and by a call from C to Go in the upper
// one. It returns 0 if that cannot be found out.
func Locks() uint64 {
	p := findLocks()
	if p.thread == 0 {
		return 0
	}
	m := uintptr(load(p.thread))
	if m == 0 {
		return 0
	}
	return uint64(half(m+p.count)) | uint64(half(m+p.count+4))<<32
}

// locksPlace is where a goroutine's record has its thread while it is locked to it,
// and where the record of a thread has the count; both are 0 if they were not found.
type locksPlace struct{ thread, count uintptr }

// threadBytes is how much of a thread's record is searched; all are longer.
const threadBytes = 1200

var findLocks = sync.OnceValue(func() locksPlace {
	return inGoroutine(func() (p locksPlace) {
		free := wordsWith(0)
		runtime.LockOSThread()
		var threads []uintptr
		for _, at := range free {
			// The thread is in the record in any case, at another place.
			if v := load(at); v != 0 && len(wordsWith(v)) > 1 {
				threads = append(threads, at)
			}
		}
		// If the goroutine was suspended meanwhile, the record also has where its stack
		// is, and keeps that.
		runtime.UnlockOSThread()
		threads = slices.DeleteFunc(threads, func(at uintptr) bool { return load(at) != 0 })
		if len(threads) != 1 {
			return locksPlace{}
		}
		runtime.LockOSThread()
		p = locksPlace{threads[0], findCount(uintptr(load(threads[0])))}
		runtime.UnlockOSThread()
		if p.count == 0 || load(p.thread) != 0 {
			return locksPlace{}
		}
		return p
	})
})

// findCount returns where the record of the thread to which the caller is locked
// once has the number 1, and the numbers that follow when the caller is locked again.
func findCount(thread uintptr) uintptr {
	found := halvesWith(thread, 1)
	for n := uint32(2); n < 5; n++ {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		next := halvesWith(thread, n)
		found = slices.DeleteFunc(found, func(at uintptr) bool { return !slices.Contains(next, at) })
	}
	if len(found) != 1 || half(thread+found[0]+4) != 0 {
		return 0
	}
	return found[0]
}

func halvesWith(thread uintptr, n uint32) (found []uintptr) {
	for at := uintptr(0); at < threadBytes; at += 4 {
		if half(thread+at) == n {
			found = append(found, at)
		}
	}
	return found
}

// half reads the 32 bits at an address that is a multiple of 4.
func half(at uintptr) uint32 { return uint32(word(at&^7) >> (8 * (at & 4))) }

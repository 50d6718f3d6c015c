package gid

import "runtime"

// Unlock unlocks the calling goroutine from its thread, unless a call from C has
// locked it, and reports whether it was locked.
func Unlock() bool {
	locks := Locks()
	for n := uint32(locks); n > 0; n-- {
		runtime.UnlockOSThread()
	}
	return locks > 0
}

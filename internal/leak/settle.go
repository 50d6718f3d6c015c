package leak

import (
	"runtime"
	"time"
)

// Settle waits until at most want goroutines are left, for five seconds at most,
// and returns how many there are. A goroutine that has done its work may still be
// running its last instructions.
func Settle(want int) int {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if runtime.NumGoroutine() <= want {
			break
		}
	}
	return runtime.NumGoroutine()
}

// Collected collects garbage until gone reports true, for five seconds at most, and returns what
// gone reported last. A goroutine that is running its last instructions may hold something still.
func Collected(gone func() bool) bool {
	for end := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
		if runtime.GC(); gone() || time.Now().After(end) {
			return gone()
		}
	}
}

// Stacks returns the stacks of all goroutines, as text.
func Stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

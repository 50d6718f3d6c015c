//go:build (darwin || freebsd || dragonfly) && !rondo_portable

package socket

// queueLength is not needed where the options of each connection are set.
func queueLength(int) int32 { return 0 }

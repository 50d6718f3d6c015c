//go:build !linux || rondo_portable

package socket_test

// copyLoss is how much of a file may be lost when a copy of it is interrupted:
// one buffer of io.Copy.
const copyLoss = 32 << 10

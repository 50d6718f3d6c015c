//go:build !rondo_portable

package socket_test

// copyLoss is how much of a file may be lost when a copy of it is interrupted:
// sendfile(2) takes only what it sends.
const copyLoss = 0

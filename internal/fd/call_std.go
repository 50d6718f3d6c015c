//go:build ((linux && race) || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// The four system calls that move data, as package syscall has them. They tell
// the race detector that a send happens before the receive, which package net
// relies on as well.

import "syscall"

func receive(sys int, p []byte) (int, syscall.Errno) { return read(sys, p) }

func send(sys int, p []byte) (int, syscall.Errno) { return write(sys, p) }

func read(sys int, p []byte) (int, syscall.Errno) {
	n, err := syscall.Read(sys, p)
	return max(n, 0), errnoOf(err)
}

func write(sys int, p []byte) (int, syscall.Errno) {
	n, err := syscall.Write(sys, p)
	return max(n, 0), errnoOf(err)
}

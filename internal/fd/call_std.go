//go:build ((linux && race) || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// The four system calls that move data, as package syscall has them: it tells
// the race detector that what was sent happens before what was received, which
// package net relies on as well.

import "syscall"

func receive(sys int, p []byte) (int, syscall.Errno) { return read(sys, p) }

func send(sys int, p []byte) (int, syscall.Errno) { return write(sys, p) }

func read(sys int, p []byte) (int, syscall.Errno) {
	n, err := syscall.Read(sys, p)
	return max(n, 0), number(err)
}

func write(sys int, p []byte) (int, syscall.Errno) {
	n, err := syscall.Write(sys, p)
	return max(n, 0), number(err)
}

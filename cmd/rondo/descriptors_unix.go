//go:build unix

package main

import "syscall"

// descriptors returns how many files this process may have open. It is the
// system's hard limit: the Go runtime has raised the soft one to it.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return unlimited
	}
	return int(min(uint64(limit.Cur), unlimited))
}

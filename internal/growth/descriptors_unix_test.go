//go:build unix

package growth_test

import "syscall"

// descriptors returns how many this process may have open. Package os has raised it to what the
// system allows at most.
func descriptors() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 1000
	}
	return int(min(uint64(l.Cur), 1<<20))
}

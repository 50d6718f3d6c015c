//go:build unix

package signals

import (
	"os"
	"syscall"
)

// uncatchable reports whether no program can catch s: signal(7).
func uncatchable(s os.Signal) bool { return s == syscall.SIGKILL || s == syscall.SIGSTOP }

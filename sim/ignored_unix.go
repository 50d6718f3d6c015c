//go:build unix

package sim

import (
	"os"
	"syscall"
)

// ignored are the signals that do nothing to a program that does not catch them.
var ignored = []os.Signal{syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGURG, syscall.SIGWINCH}

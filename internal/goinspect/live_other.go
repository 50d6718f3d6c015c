//go:build !linux

package goinspect

import (
	"fmt"
	"runtime"
)

// OpenProcess fails: the memory of another process is read on Linux only.
func OpenProcess(pid int) (Memory, error) {
	return nil, fmt.Errorf("processes can be read from outside on Linux only, not on %s: use inspect.Snapshot or inspect.Handler in the program", runtime.GOOS)
}

// OpenSelf fails as OpenProcess does.
func OpenSelf() (Memory, error) { return OpenProcess(0) }

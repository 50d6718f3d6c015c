//go:build !linux

package process

import "os"

// handleOf fails: this system has no descriptor of a process that can be watched.
func handleOf(*os.Process) (int, error) { return -1, os.ErrNoHandle }

func closeHandle(int) {}

//go:build !linux

package process

import "os"

// handleOf fails: there is no descriptor of a process that could be watched.
func handleOf(*os.Process) (int, error) { return -1, os.ErrNoHandle }

func closeHandle(int) {}

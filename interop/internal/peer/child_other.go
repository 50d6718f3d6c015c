//go:build !linux

package peer

// This file stands for what only Linux has: a child lives on if a test does not
// get to clean up, and PostgreSQL runs as whoever runs the test.

import "os/exec"

func ownChild(*exec.Cmd) {}

type account struct{}

func unprivileged() (*account, error) { return nil, nil }

func (*account) own(string) error { return nil }

func (*account) run(*exec.Cmd) {}

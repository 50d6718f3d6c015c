//go:build !linux

package peer

// Without Linux a child lives on if a test does not
// clean up, and PostgreSQL runs as the user of the test.

import "os/exec"

func ownChild(*exec.Cmd) {}

type account struct{}

func unprivileged() (*account, error) { return nil, nil }

func (*account) own(string) error { return nil }

func (*account) run(*exec.Cmd) {}

//go:build unix && !linux

package main

// Elsewhere no network is cut.

import (
	"errors"
	"os/exec"
	"testing"
)

func inHub(t *testing.T) bool {
	t.Log("no network is cut: that needs the namespaces of Linux")
	return false
}

type cable struct{}

func cables(n int) (all []*cable, hosts []string, err error) {
	all, hosts = make([]*cable, n), make([]string, n)
	for i := range hosts {
		hosts[i] = "127.0.0.1"
	}
	return all, hosts, nil
}

func (*cable) start(p *exec.Cmd) error     { return p.Start() }
func (*cable) cut() (string, error)        { return "", errors.ErrUnsupported }
func (*cable) mend(string) (string, error) { return "", errors.ErrUnsupported }

func bridge() error { return errors.ErrUnsupported }
func plugIn() error { return nil }

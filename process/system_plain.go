//go:build !unix

package process

import (
	"os"

	"github.com/rondo-go/rondo/internal/fd"
)

// terminate ends a process: it cannot be asked to end.
func terminate(p *os.Process) error { return p.Kill() }

// rest gives nothing: a pipe cannot be read without waiting.
func rest(*fd.FD) []byte { return nil }

//go:build !unix

package process

import (
	"os"

	"github.com/rondo-go/rondo/internal/fd"
)

// terminate kills a process, because it cannot be asked to end.
func terminate(p *os.Process) error { return p.Kill() }

// read reads from the pipe.
func (o *outlet) read(p []byte) (int, error) { return o.file.Read(p) }

// rest returns nothing: a pipe cannot be read without waiting.
func rest(*fd.FD) []byte { return nil }

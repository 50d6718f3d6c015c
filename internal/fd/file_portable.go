//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

import (
	"os"

	"github.com/rondo-go/rondo/internal/kernel"
)

// OfFile returns an FD of a file, and owns the file from then on.
func OfFile(loop kernel.Loop, file *os.File) (*FD, error) { return Adopt(loop, file), nil }

//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

import (
	"os"

	"github.com/rondo-go/rondo/internal/kernel"
)

// OfFile makes an FD of a file. The file is the FD's from here on.
func OfFile(loop kernel.Loop, file *os.File) (*FD, error) { return Adopt(loop, file), nil }

package inspect

import "github.com/rondo-go/rondo/internal/goinspect"

// OpenMemory opens a program of which only the memory is there.
func OpenMemory(m goinspect.Memory) (*Target, error) { return open(m, 0, "the image") }

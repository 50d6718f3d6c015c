//go:build amd64 || arm64

package prefetch

// Works reports whether there is assembly for the processor.
const Works = true

// Ask requests all that s names.
//
//go:noescape
func Ask(s *Switch)

// StackPointer returns the stack pointer of the caller.
func StackPointer() uintptr

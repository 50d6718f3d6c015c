//go:build !amd64 && !arm64

package prefetch

// Works reports whether there is assembly for the processor.
const Works = false

// Ask does nothing.
func Ask(*Switch) {}

// StackPointer returns 0.
func StackPointer() uintptr { return 0 }

//go:build amd64 || arm64

package stacks

// above is Above, if the compiler keeps frame pointers as it does.
func above() uintptr

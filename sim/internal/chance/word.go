//go:build amd64 || arm64

package chance

// word reads the word at an address, and setWord writes it.
func word(at uintptr) uint64
func setWord(at uintptr, v uint64)

//go:build !amd64 && !arm64

package chance

func word(uintptr) uint64     { return 0 }
func setWord(uintptr, uint64) {}

//go:build (darwin || freebsd || dragonfly) && !rondo_portable

package fd

// sameFile reports whether two descriptors are known to be one open file. These
// systems do not say so, and have no limit that makes sharing necessary.
func sameFile(_, _ int) bool { return false }

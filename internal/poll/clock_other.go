//go:build !linux

package poll

// Epoch returns 0: only on Linux is the system's clock read apart from package time.
func (c *clock) Epoch() int64 { return 0 }

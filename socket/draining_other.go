//go:build !linux

package socket

// refuseNew does nothing: this system cannot refuse new connections and keep those
// that have come.
func (l *Listener) refuseNew() {}

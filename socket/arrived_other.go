//go:build !unix

package socket

// hasArrived returns false: this system does not say whether a connection waits to be accepted.
// Those that come while the loop stands still at the end of a listener are reset.
func hasArrived(stdListener) bool { return false }

//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package poll_test

import "testing"

// Sockets choose how to work by whether the driver has a Poller.
func TestPortableHasNoDescriptors(t *testing.T) {
	if open(t).Poller() != nil {
		t.Error("the portable driver has a Poller")
	}
}

//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package poll_test

import (
	"testing"

	"github.com/rondo-go/rondo/internal/driver"
)

// Sockets choose how to work by whether the driver is a Poller.
func TestPortableHasNoDescriptors(t *testing.T) {
	if _, ok := open(t).(driver.Poller); ok {
		t.Error("the portable driver is a Poller")
	}
}

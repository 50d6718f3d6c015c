//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package poll_test

import (
	"testing"

	"github.com/rondo-go/rondo/internal/driver"
)

// Sockets ask whether a driver is a Poller to know how to do their work.
func TestPortableHasNoDescriptors(t *testing.T) {
	if _, ok := open(t).(driver.Poller); ok {
		t.Error("the portable driver says that it watches descriptors")
	}
}

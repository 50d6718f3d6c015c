//go:build !linux

package peer

import (
	"net"
	"testing"
)

// reserve returns a port of 127.0.0.1 that was free a moment ago. Another program
// may take it before the peer does.
func reserve(t testing.TB) (address string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

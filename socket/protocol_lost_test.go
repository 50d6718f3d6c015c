//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/internal/fd"
)

// TestLostAsksNothing: the error of a connection that a Protocol has lost names both ends
// by what accept has said. Asking the system costs a connection that is reset two fifths
// of its life, so a Transport without a descriptor knows as much.
func TestLostAsksNothing(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	tr := &Transport{dispatcher: &dispatcher{local: at}, peer: netip.MustParseAddrPort("127.0.0.2:81"), stream: fd.NewStream(-1, false)}
	var op *net.OpError
	err := tr.fail("read", syscall.ECONNRESET)
	if !errors.As(err, &op) || op.Source != at || op.Addr.String() != "127.0.0.2:81" || op.Net != "tcp" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%#v", err)
	}
	// Behind a listener of all addresses this end is not known, but the peer is.
	tr.dispatcher.local = nil
	if err := tr.fail("read", syscall.ECONNRESET); !errors.As(err, &op) || op.Source != nil || op.Addr.String() != "127.0.0.2:81" {
		t.Errorf("this end is not known: %#v", err)
	}
}

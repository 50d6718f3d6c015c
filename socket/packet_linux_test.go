//go:build !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
)

// TestPacketAllocs: a datagram costs no allocation.
func TestPacketAllocs(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c := packets(t, ctx, "udp", "127.0.0.1:0")
		to := netip.MustParseAddrPort(c.LocalAddr().String())
		p := make([]byte, 100)
		var failed error
		n := testing.AllocsPerRun(1000, func() {
			_, err := c.WriteToUDPAddrPort(p[:10], to)
			n, from, err2 := c.ReadFromUDPAddrPort(p)
			if err != nil || err2 != nil || n != 10 || from != to {
				failed = errors.Join(fmt.Errorf("%d bytes from %v", n, from), err, err2)
			}
		})
		if n != 0 {
			t.Errorf("a datagram there and back costs %v allocations", n)
		}
		return failed
	})
}

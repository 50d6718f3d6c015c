package socket

import (
	"net/netip"
	"testing"
	"time"
)

// TestAddressesAreForgotten: of many addresses those are kept that have a connection, or have
// opened one a moment ago.
func TestAddressesAreForgotten(t *testing.T) {
	l := &Limits{ConnsPerAddr: 1, RatePerAddr: 1}
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	var all addresses
	visit := func(i int, at time.Time, want verdict) {
		t.Helper()
		if got := all.enter(l, addr(i), at); got != want {
			t.Errorf("the verdict on address %d is %d, want %d", i, got, want)
		}
	}
	now := time.Unix(1000, 0)
	later := now.Add(time.Hour)
	visit(0, now, welcome) // it stays
	for i := 1; i < 3*sweepFrom; i++ {
		visit(i, now, welcome)
		all.leave(l, addr(i))
	}
	visit(1, now, tooFast)
	for i := 3 * sweepFrom; i < 5*sweepFrom; i++ {
		visit(i, later, welcome)
		all.leave(l, addr(i))
	}
	visit(0, later, tooMany)
	if n := len(all.of); n > 2*sweepFrom+1 {
		t.Errorf("%d addresses are kept", n)
	}
	all.leave(l, addr(0))
	visit(0, later, welcome)
}

//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net"
	"net/netip"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/fd"
)

// TestZones: the zone of an IPv6 address is the name of an interface, as package net has it, or the
// number of one that is gone.
func TestZones(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	const gone = 1 << 30
	for _, i := range append(all, net.Interface{Index: gone, Name: strconv.Itoa(gone)}) {
		p := fd.Peer{Addr: netip.MustParseAddrPort("[fe80::1]:80"), Zone: uint32(i.Index)}
		want := "[fe80::1%" + i.Name + "]:80"
		if got := peerAddress(p, "tcp").String(); got != want {
			t.Errorf("the peer in zone %d is %s, want %s", i.Index, got, want)
		}
		back := sockaddr(addrPort(p)).(*unix.SockaddrInet6)
		if addrPort(p).String() != want || peerOfAddr(addrPort(p)) != p || back.ZoneId != p.Zone {
			t.Errorf("%s is in zone %d, and is dialled in zone %d", addrPort(p), peerOfAddr(addrPort(p)).Zone, back.ZoneId)
		}
	}
}

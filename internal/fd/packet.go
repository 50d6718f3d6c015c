package fd

import "net/netip"

// A Peer is the address of an end of a socket: of UDP or TCP, or the name of a
// Unix socket, empty if it has none. An abstract name begins with @.
type Peer struct {
	Addr netip.AddrPort
	Zone uint32 // the interface of a link-local address that Addr does not name
	Name string
}

package socket

// This file reads addresses.

import (
	"net"
	"net/netip"
	"strconv"
)

// literal tells whether address needs no look-up: its host is empty or a number,
// and so is its port. One that cannot be read needs none either: it is refused.
func literal(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	if _, err := strconv.Atoi(port); err != nil && port != "" {
		return false
	}
	if host == "" {
		return true
	}
	_, err = netip.ParseAddr(host)
	return err == nil
}

package socket

// This file parses addresses.

import (
	"net"
	"net/netip"
	"strconv"
)

// literal reports whether address needs no look-up: its host is empty or a
// number, and so is its port. An invalid address needs none either: it fails
// later.
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

package socket

// Names of networks, and addresses as text and as package net has them.

import (
	"errors"
	"net"
	"net/netip"
	"slices"
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

// streams reports whether a network is one of Conn.
func streams(network string) bool {
	switch network {
	case "tcp", "tcp4", "tcp6", "unix", "unixpacket":
		return true
	}
	return false
}

// datagrams reports whether a network is one of PacketConn.
func datagrams(network string) bool {
	switch network {
	case "udp", "udp4", "udp6", "unixgram":
		return true
	}
	return false
}

var errMissingAddress = errors.New("missing address")

// A network is the name of a network of streams, in a byte.
type network uint8

var networks = [...]string{"tcp", "tcp4", "tcp6", "unix", "unixpacket"}

func networkOf(name string) network { return network(max(0, slices.Index(networks[:], name))) }

func (n network) String() string { return networks[n] }

// portOf returns the number of a port. Names of services are those of the standard
// library's own table, so that a file of the machine decides nothing.
func portOf(network, service string) (uint16, error) {
	if n, err := strconv.ParseUint("0"+service, 10, 16); err == nil {
		return uint16(n), nil
	}
	switch service {
	case "http":
		return 80, nil
	case "https":
		return 443, nil
	case "domain":
		return 53, nil
	}
	return 0, &net.AddrError{Err: "unknown port for a simulated " + network + " socket; use a number", Addr: service}
}

// isUnix reports whether addresses of a network are names.
func isUnix(network string) bool {
	return network == "unix" || network == "unixpacket" || network == "unixgram"
}

// peerAddr is the address of a TCP peer. It is invalid for other networks.
type peerAddr = netip.AddrPort

// tcpPeer returns the address of a TCP peer.
func tcpPeer(a net.Addr) peerAddr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return peerAddr{}
}

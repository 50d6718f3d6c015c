//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"net"
	"net/netip"

	"github.com/rondo-go/rondo/internal/fd"
)

func addrPort(p fd.Peer) netip.AddrPort { return p.Addr }

func peerOfAddr(to netip.AddrPort) fd.Peer { return fd.Peer{Addr: to} }

// askLocal returns the address that package net has given.
func askLocal(_ *fd.FD, known net.Addr) net.Addr { return known }

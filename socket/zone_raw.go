//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net"
	"strconv"
)

// zone returns the name of the interface with an IPv6 scope number, and index
// the number of a named one.
func zone(id uint32) string {
	if id == 0 {
		return ""
	}
	if i, err := net.InterfaceByIndex(int(id)); err == nil {
		return i.Name
	}
	return strconv.Itoa(int(id))
}

func index(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index)
	}
	n, _ := strconv.Atoi(zone)
	return uint32(n)
}

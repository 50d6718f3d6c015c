//go:build !rondo_portable

package socket

import "golang.org/x/sys/unix"

// queueLength returns how many connections wait to be accepted from a listening socket: tcp(7) has
// that in tcpi_unacked.
func queueLength(sys int) int32 {
	info, err := unix.GetsockoptTCPInfo(sys, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return int32(info.Unacked)
}

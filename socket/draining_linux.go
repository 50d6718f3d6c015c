package socket

import (
	"math"
	"net"

	"golang.org/x/sys/unix"
)

// refuseNew makes a TCP listener take no new connections, while handshakes that have
// begun can end: it binds the socket to a network interface that does not exist
// (socket(7), SO_BINDTODEVICE). So the socket is not found for a SYN, which is refused
// as if nobody listened; a handshake that has begun is found by its own addresses.
//
// A socket that another process may have stays as it is: the option would hold there
// too.
func (l *Listener) refuseNew() {
	if _, tcp := l.std.(*net.TCPListener); !tcp || l.shared.Load() {
		return
	}
	raw, err := l.std.SyscallConn()
	if err != nil {
		return
	}
	// It fails before Linux 5.7, and for a socket that is bound to an interface. Then
	// connections of the last moment are reset, as on other systems.
	_ = raw.Control(func(sys uintptr) {
		_ = unix.SetsockoptInt(int(sys), unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, math.MaxInt32)
	})
}

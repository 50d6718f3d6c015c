package socket

import (
	"net"

	"golang.org/x/sys/unix"
)

// refuseNew makes a TCP listener take no new connections, while handshakes that have
// begun can end: a filter drops each SYN (socket(7), SO_ATTACH_FILTER). Its sender
// tries again a second later, and is refused then. A socket that another process may
// have stays as it is: the filter would be there too.
func (l *Listener) refuseNew() {
	if _, tcp := l.std.(*net.TCPListener); !tcp || l.shared.Load() {
		return
	}
	const flags, syn, ack = 13, 0x02, 0x10
	const keep = 1 << 18
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: syn | ack},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: syn, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: keep},
	}
	raw, err := l.std.SyscallConn()
	if err != nil {
		return
	}
	// Where it fails, the connections of the last moment are reset, as everywhere else.
	_ = raw.Control(func(sys uintptr) {
		_ = unix.SetsockoptSockFprog(int(sys), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	})
}

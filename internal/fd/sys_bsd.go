//go:build (darwin || freebsd || dragonfly) && !rondo_portable

package fd

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// accept returns the next connection as a non-blocking descriptor. The lock
// keeps a process that is started at this moment from inheriting it.
func accept(sys int, _ bool) (int, Peer, syscall.Errno) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	conn, peer, err := unix.Accept(sys)
	if err != nil {
		return -1, Peer{}, errnoOf(err)
	}
	unix.CloseOnExec(conn)
	if err := unix.SetNonblock(conn, true); err != nil {
		unix.Close(conn)
		return -1, Peer{}, errnoOf(err)
	}
	return conn, peerOf(peer), 0
}

// closePrompt is close(2).
func closePrompt(sys int) { unix.Close(sys) }

// LocalPeer returns the address of this end of a socket, if it is still
// connected: getsockname(2).
func LocalPeer(sys int) Peer {
	sa, _ := unix.Getsockname(sys)
	return peerOf(sa)
}

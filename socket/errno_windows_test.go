package socket_test

import "syscall"

// Windows has numbers of its own.
var (
	peerGone  = []error{syscall.WSAECONNRESET, syscall.WSAECONNABORTED}
	peerReset = []error{syscall.WSAECONNRESET}
	refused   = []error{syscall.Errno(10061)} // WSAECONNREFUSED
	inUse     = []error{syscall.Errno(10048)} // WSAEADDRINUSE
)

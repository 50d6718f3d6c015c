//go:build !windows

package socket_test

import "syscall"

var (
	peerGone  = []error{syscall.EPIPE, syscall.ECONNRESET}
	peerReset = []error{syscall.ECONNRESET}
	refused   = []error{syscall.ECONNREFUSED}
	inUse     = []error{syscall.EADDRINUSE}
)

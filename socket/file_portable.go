//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package socket

import (
	"net"
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// errNotOpened is the error of FileConn for a socket that is not connected.
var errNotOpened = os.NewSyscallError("getpeername", syscall.ENOTCONN)

// fromStd returns a Conn of a connection of package net, which it keeps.
func fromStd(loop kernel.Loop, std net.Conn) (*Conn, error) {
	return adopt(fd.Adopt(loop, std.(fd.Std)), std), nil
}

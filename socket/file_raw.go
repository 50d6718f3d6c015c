//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

import (
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// errNotOpened is the error of FileConn for a socket that is not connected.
var errNotOpened = os.NewSyscallError("getpeername", unix.ENOTCONN)

// fromStd returns a Conn of the socket of a connection of package net, which it
// closes. The loop has the only descriptor of this process then, but others may
// have theirs.
func fromStd(loop kernel.Loop, std net.Conn) (*Conn, error) {
	defer std.Close()
	sys, err := fd.Dup(std)
	if err != nil {
		return nil, err
	}
	return adopt(fd.New(loop, sys, makeStd), std), nil
}

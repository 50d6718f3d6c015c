//go:build linux || darwin || freebsd || dragonfly

package socket

// Options of a listening socket for which package net has no field.

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// std returns the net.ListenConfig with the same options, except the backlog.
func (lc *ListenConfig) std() (*net.ListenConfig, error) {
	config := &net.ListenConfig{Control: guardControl(lc.Control), KeepAlive: lc.KeepAlive, KeepAliveConfig: lc.KeepAliveConfig}
	if !lc.ReusePort {
		return config, nil
	}
	config.Control = func(network, address string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(sys uintptr) { err = unix.SetsockoptInt(int(sys), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }); e != nil {
			return e
		}
		if err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
		if lc.Control != nil {
			return guardControl(lc.Control)(network, address, c)
		}
		return nil
	}
	return config, nil
}

// setBacklog sets the backlog of a listening socket: listen(2) may be called
// again. If that fails it closes the socket.
func (lc *ListenConfig) setBacklog(l net.Listener) error {
	if lc.Backlog <= 0 {
		return nil
	}
	raw, err := l.(syscall.Conn).SyscallConn()
	if err == nil {
		if e := raw.Control(func(sys uintptr) { err = unix.Listen(int(sys), lc.Backlog) }); e != nil {
			err = e
		}
	}
	if err != nil {
		l.Close()
		return os.NewSyscallError("listen", err)
	}
	return nil
}

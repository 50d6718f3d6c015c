//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package socket

// Socket options, as package net sets them.

import (
	"errors"
	"net"
	"os"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// tcpOf returns package net's connection, or an error if it is no TCP connection.
func tcpOf(f *fd.FD) (*net.TCPConn, error) {
	std, err := f.Std()
	if err != nil {
		return nil, err
	}
	if t, ok := std.(*net.TCPConn); ok {
		return t, nil
	}
	return nil, errNotTCP
}

var errNotTCP = errors.New("not a TCP connection")

func setNoDelay(f *fd.FD, on bool) error {
	t, err := tcpOf(f)
	if err != nil {
		return err
	}
	return t.SetNoDelay(on)
}

func setKeepAlive(f *fd.FD, on bool) error {
	t, err := tcpOf(f)
	if err != nil {
		return err
	}
	return t.SetKeepAlive(on)
}

func setKeepAliveConfig(f *fd.FD, config net.KeepAliveConfig) error {
	t, err := tcpOf(f)
	if err != nil {
		return err
	}
	return t.SetKeepAliveConfig(config)
}

func setLinger(f *fd.FD, seconds int) error {
	t, err := tcpOf(f)
	if err != nil {
		return err
	}
	f.Linger(seconds > 0)
	return t.SetLinger(seconds)
}

func setSystemBuffer(f *fd.FD, which driver.Events, bytes int) error {
	std, err := f.Std()
	if err != nil {
		return err
	}
	b := std.(interface {
		SetReadBuffer(bytes int) error
		SetWriteBuffer(bytes int) error
	})
	if which == driver.Readable {
		return b.SetReadBuffer(bytes)
	}
	return b.SetWriteBuffer(bytes)
}

func shutdownSystem(f *fd.FD, which driver.Events) error {
	std, err := f.Std()
	if err != nil {
		return err
	}
	half := std.(interface {
		CloseRead() error
		CloseWrite() error
	})
	if which == driver.Writable {
		return half.CloseWrite()
	}
	return f.EndReads(half.CloseRead)
}

// openFile returns a duplicate of a socket. Its name is package net's.
func openFile(f *fd.FD, _ string) (*os.File, error) {
	std, err := f.Std()
	if err != nil {
		return nil, err
	}
	return std.(interface{ File() (*os.File, error) }).File()
}

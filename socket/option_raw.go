//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

// Socket options, as system calls on the descriptor. Setting one through
// package net would keep a second descriptor open for the connection's life.

import (
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// set sets options of a socket.
func set(f *fd.FD, option func(sys int) error) error {
	var err error
	if e := f.Control(func(sys uintptr) { err = option(int(sys)) }); e != nil {
		return e
	}
	if errno, ok := err.(syscall.Errno); ok {
		return os.NewSyscallError("setsockopt", errno)
	}
	return err
}

func setNoDelay(f *fd.FD, on bool) error {
	return set(f, func(sys int) error { return setFlag(sys, unix.IPPROTO_TCP, unix.TCP_NODELAY, on) })
}

func setKeepAlive(f *fd.FD, on bool) error {
	return set(f, func(sys int) error { return setFlag(sys, unix.SOL_SOCKET, unix.SO_KEEPALIVE, on) })
}

func setKeepAliveConfig(f *fd.FD, config net.KeepAliveConfig) error {
	return set(f, func(sys int) error { return probe(sys, config) })
}

func setLinger(f *fd.FD, seconds int) error {
	f.Linger(seconds > 0)
	var l unix.Linger
	if seconds >= 0 {
		l = unix.Linger{Onoff: 1, Linger: int32(seconds)}
	}
	return set(f, func(sys int) error {
		return unix.SetsockoptLinger(sys, unix.SOL_SOCKET, unix.SO_LINGER, &l)
	})
}

func setSystemBuffer(f *fd.FD, which driver.Events, bytes int) error {
	return set(f, func(sys int) error {
		if which == driver.Readable {
			return unix.SetsockoptInt(sys, unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
		}
		return unix.SetsockoptInt(sys, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
	})
}

func shutdownSystem(f *fd.FD, which driver.Events) error {
	how := unix.SHUT_RD
	if which == driver.Writable {
		how = unix.SHUT_WR
	}
	var err error
	if e := f.Control(func(sys uintptr) { err = unix.Shutdown(int(sys), how) }); e != nil {
		return e
	}
	return os.NewSyscallError("shutdown", err)
}

// openFile returns a duplicate of a socket.
func openFile(f *fd.FD, name string) (*os.File, error) {
	sys, err := duplicate(f)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(sys), name), nil
}

func duplicate(f *fd.FD) (sys int, err error) {
	if e := f.Control(func(fd uintptr) { sys, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	return sys, os.NewSyscallError("fcntl", err)
}

func setFlag(sys, level, option int, on bool) error {
	value := 0
	if on {
		value = 1
	}
	return unix.SetsockoptInt(sys, level, option, value)
}

// tune sets what package net sets on a TCP connection: no delay, and probes. As
// in package net, errors are ignored.
func tune(sys int, config net.KeepAliveConfig) {
	_ = setFlag(sys, unix.IPPROTO_TCP, unix.TCP_NODELAY, true)
	if config.Enable {
		_ = probe(sys, config)
	}
}

// probe sets the options of a net.KeepAliveConfig: zero means the
// default, a negative value keeps the system's.
func probe(sys int, config net.KeepAliveConfig) error {
	if err := setFlag(sys, unix.SOL_SOCKET, unix.SO_KEEPALIVE, config.Enable); err != nil || !config.Enable {
		return err
	}
	if config.Count == 0 {
		config.Count = 9
	}
	for _, o := range []struct{ option, value int }{
		{keepIdle, seconds(config.Idle)},
		{unix.TCP_KEEPINTVL, seconds(config.Interval)},
		{unix.TCP_KEEPCNT, config.Count},
	} {
		if o.value < 0 {
			continue
		}
		if err := unix.SetsockoptInt(sys, unix.IPPROTO_TCP, o.option, o.value); err != nil {
			return err
		}
	}
	return nil
}

// seconds rounds up: the system counts whole seconds.
func seconds(d time.Duration) int {
	if d == 0 {
		return 15
	}
	if d < 0 {
		return -1
	}
	return int((d + time.Second - 1) / time.Second)
}

// makeStd opens a connection of package net of the same socket. Package net
// takes it for a new one and sets its options; they are restored.
func makeStd(sys int) (fd.Std, error) {
	dup, err := unix.FcntlInt(uintptr(sys), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(dup), "rondo-std")
	defer file.Close()
	kept := keepOptions(sys)
	c, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	kept.restore(sys)
	return c.(fd.Std), nil
}

// An option of a TCP socket that package net changes.
type option struct{ level, name, value int }

type options []option

func keepOptions(sys int) options {
	var kept options
	for _, o := range []option{
		{level: unix.IPPROTO_TCP, name: unix.TCP_NODELAY},
		{level: unix.IPPROTO_TCP, name: keepIdle},
		{level: unix.IPPROTO_TCP, name: unix.TCP_KEEPINTVL},
		{level: unix.IPPROTO_TCP, name: unix.TCP_KEEPCNT},
		{level: unix.SOL_SOCKET, name: unix.SO_KEEPALIVE},
	} {
		// A Unix socket has none of them; package net changes nothing there.
		if v, err := unix.GetsockoptInt(sys, o.level, o.name); err == nil {
			o.value = v
			kept = append(kept, o)
		}
	}
	return kept
}

func (kept options) restore(sys int) {
	for _, o := range kept {
		_ = unix.SetsockoptInt(sys, o.level, o.name, o.value)
	}
}

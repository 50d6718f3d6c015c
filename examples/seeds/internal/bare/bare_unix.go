//go:build unix && !aix && !solaris

package bare

import (
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Listen announces on a free port of the loopback interface, and returns the
// descriptor and the address.
func Listen() (fd int, address string, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, "", os.NewSyscallError("socket", err)
	}
	loopback := [4]byte{127, 0, 0, 1}
	if err = prepare(fd); err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback}))
	}
	if err == nil {
		err = os.NewSyscallError("listen", unix.Listen(fd, unix.SOMAXCONN))
	}
	if err == nil {
		var name unix.Sockaddr
		if name, err = unix.Getsockname(fd); err == nil {
			port := name.(*unix.SockaddrInet4).Port
			return fd, netip.AddrPortFrom(netip.AddrFrom4(loopback), uint16(port)).String(), nil
		}
		err = os.NewSyscallError("getsockname", err)
	}
	_ = Close(fd)
	return -1, "", err
}

// Accept returns the next connection that waits for it.
func Accept(fd int) (int, error) {
	conn, _, err := unix.Accept(fd)
	if err != nil {
		return -1, failed("accept", err)
	}
	if err := prepare(conn); err != nil {
		_ = Close(conn)
		return -1, err
	}
	return conn, nil
}

// Read reads what has arrived; nothing at all says that the peer has ended.
func Read(fd int, p []byte) (int, error) {
	n, err := unix.Read(fd, p)
	return max(n, 0), failed("read", err)
}

// Write writes as much of p as the system takes.
func Write(fd int, p []byte) (int, error) {
	if AtMost > 0 {
		p = p[:min(AtMost, len(p))]
	}
	n, err := unix.Write(fd, p)
	return max(n, 0), failed("write", err)
}

// Close closes the descriptor.
func Close(fd int) error { return os.NewSyscallError("close", unix.Close(fd)) }

// prepare makes calls not block, and keeps the descriptor from other programs.
func prepare(fd int) error {
	unix.CloseOnExec(fd)
	return os.NewSyscallError("fcntl", unix.SetNonblock(fd, true))
}

func failed(call string, err error) error {
	if err == unix.EAGAIN || err == unix.EINTR {
		return ErrWouldBlock
	}
	return os.NewSyscallError(call, err)
}

// poll waits, and tells of each whether it is ready.
func poll[T any](list []watched[T], timeout time.Duration) ([]bool, error) {
	milliseconds := -1
	if timeout >= 0 {
		milliseconds = int((timeout + time.Millisecond - 1) / time.Millisecond) // none too short
	}
	fds := make([]unix.PollFd, len(list))
	for i, w := range list {
		fds[i] = unix.PollFd{Fd: int32(w.fd), Events: unix.POLLIN}
		if w.write {
			fds[i].Events = unix.POLLOUT
		}
	}
	if _, err := unix.Poll(fds, milliseconds); err != nil && err != unix.EINTR {
		return nil, os.NewSyscallError("poll", err)
	}
	ready := make([]bool, len(list))
	for i := range fds {
		ready[i] = fds[i].Revents != 0
	}
	return ready, nil
}

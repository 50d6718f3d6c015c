//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// How a connection starts: accepted from a listener, or connected.

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/kernel"
)

// Accept waits for a connection and returns its non-blocking descriptor and its
// peer. shared says that the listener may have a descriptor elsewhere. Only tasks may
// call it.
func (f *FD) Accept(t kernel.Task, shared *atomic.Bool) (sys int, peer Peer, err error) {
	s := &f.read
	if err := s.Take(t); err != nil {
		return -1, Peer{}, err
	}
	err = s.attempt(t, "accept", func() (errno syscall.Errno) {
		others := shared.Load()
		if others {
			keepNonblock(f.sys)
		}
		sys, peer, errno = accept(f.sys, others)
		if errno == syscall.ECONNABORTED {
			// It was closed before it was accepted: look for the next.
			return syscall.EINTR
		}
		return errno
	})
	s.Release()
	spent := false
	defer func() {
		if !spent && err == nil {
			unix.Close(sys) // a callback's Goexit unwinds the task that yields
		}
	}()
	t.Spend(0)
	spent = true
	if err != nil {
		return -1, Peer{}, syscallError("accept", err)
	}
	return sys, peer, nil
}

// LocalPeer returns the address of this end, if the loop's descriptor is open.
// Any goroutine may call it.
func (f *FD) LocalPeer() Peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sys < 0 {
		return Peer{}
	}
	return LocalPeer(f.sys) // it never blocks, and f.sys stays open under mu
}

// keepNonblock makes a listening socket non-blocking again. The mode belongs to the
// open file, so any process that shares it may have changed it, as os.File.Fd does;
// and accept is the one call that has no flag against waiting. Another process may
// take the connection that was reported, and then accept would stop the loop.
func keepNonblock(sys int) {
	if flags, err := unix.FcntlInt(uintptr(sys), unix.F_GETFL, 0); err == nil && flags&unix.O_NONBLOCK == 0 {
		_ = unix.SetNonblock(sys, true)
	}
}

// Connect connects the socket to an address. It waits until the socket is
// connected or has failed. Only tasks may call it.
func (f *FD) Connect(t kernel.Task, to unix.Sockaddr) error {
	s := &f.write
	if err := s.Take(t); err != nil {
		return err
	}
	defer s.Release()
	asked := false
	return syscallError("connect", s.attempt(t, "connect", func() syscall.Errno {
		if !asked {
			asked = true
			return pending(errnoOf(unix.Connect(f.sys, to)))
		}
		code, err := unix.GetsockoptInt(f.sys, unix.SOL_SOCKET, unix.SO_ERROR)
		if err != nil {
			return errnoOf(err)
		}
		if code != 0 {
			return pending(syscall.Errno(code))
		}
		// No error may also mean no answer yet, if the report was for an
		// earlier socket with the same number.
		if _, err := unix.Getpeername(f.sys); err != nil {
			return syscall.EAGAIN
		}
		return 0
	}))
}

// pending returns EAGAIN for the errors of connect(2) that mean that it is
// under way. EAGAIN itself is none of them: it says that a Unix socket's peer
// has no room.
func pending(errno syscall.Errno) syscall.Errno {
	switch errno {
	case syscall.EINPROGRESS, syscall.EALREADY, syscall.EINTR:
		return syscall.EAGAIN
	case syscall.EISCONN:
		return 0
	}
	return errno
}

//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// Datagrams. One that is short says nothing of the next, and one of no bytes is
// no end, so nothing is learned from the length: a side is ready until the
// kernel says EAGAIN.

import (
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Receive waits for a datagram and puts it into p; what does not fit is lost.
// Only tasks may call it.
func (f *FD) Receive(t kernel.Task, p []byte) (n int, from Peer, err error) {
	s := &f.read
	if err := s.Take(t); err != nil {
		return 0, Peer{}, err
	}
	err = s.attempt(t, "read", func() (errno syscall.Errno) {
		n, from, errno = receiveFrom(f.sys, p)
		return errno
	})
	s.Release()
	if err != nil {
		t.Spend(0)
		return 0, Peer{}, name("recvfrom", err)
	}
	t.Spend(n)
	return n, from, nil
}

// Send sends p as one datagram to the peer that the socket is connected to. Only
// tasks may call it.
func (f *FD) Send(t kernel.Task, p []byte) (n int, err error) {
	return f.sendBy(t, "write", len(p), func(sys int) syscall.Errno {
		_, errno := send(sys, p)
		return errno
	})
}

// SendTo sends p as one datagram. six tells that the socket is one of IPv6. Only
// tasks may call it.
func (f *FD) SendTo(t kernel.Task, p []byte, to Peer, six bool) (n int, err error) {
	return f.sendBy(t, "sendto", len(p), func(sys int) syscall.Errno { return sendTo(sys, p, to, six) })
}

// retryFirst and retryMax are the pauses before a datagram is offered again to a
// Unix socket that had no room for it. The kernel tells a sender that is not
// connected nothing about the other's queue. Each attempt is followed by a report
// of its own making, so reports are not heeded in the pauses.
const (
	retryFirst = time.Millisecond
	retryMax   = 64 * time.Millisecond
)

// sendBy tries op, which is all or nothing.
func (f *FD) sendBy(t kernel.Task, call string, size int, op func(sys int) syscall.Errno) (int, error) {
	s := &f.write
	if err := s.Take(t); err != nil {
		return 0, err
	}
	var again kernel.Timer
	pause := retryFirst
	err := s.attempt(t, "write", func() syscall.Errno {
		errno := op(f.sys)
		if errno == syscall.EAGAIN && f.blind {
			f.pausing = true
			again = s.retry(pause)
			pause = min(2*pause, retryMax)
		}
		return errno
	})
	if again != nil {
		again.Cancel()
		f.pausing = false
	}
	s.Release()
	if err != nil {
		t.Spend(0)
		return 0, name(call, err)
	}
	t.Spend(size)
	return size, nil
}

// retry has the side tried again after a pause.
func (s *side) retry(pause time.Duration) kernel.Timer {
	return s.loop.CallAt(s.loop.Driver().Now()+int64(pause), func() {
		s.fd.pausing = false
		s.Ready(driver.Writable)
	})
}

// Datagrams tells that the socket is one of datagrams. blind is for one of Unix
// that is not connected, so that nobody tells it when another's queue has room.
func (f *FD) Datagrams(blind bool) { f.pieces, f.blind = true, blind }

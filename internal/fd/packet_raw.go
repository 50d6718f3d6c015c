//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd

// Datagrams. A short datagram says nothing of the next one, and an empty one is
// no end of the stream. So the length proves nothing, and a side stays ready
// until the kernel says EAGAIN.

import (
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Receive waits for a datagram and puts it into p. What does not fit is lost.
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
		return 0, Peer{}, syscallError("recvfrom", err)
	}
	t.Spend(n)
	return n, from, nil
}

// Send sends p as one datagram to the peer that the socket is connected to.
// Only tasks may call it.
func (f *FD) Send(t kernel.Task, p []byte) (n int, err error) {
	return f.sendBy(t, "write", len(p), func(sys int) syscall.Errno {
		_, errno := send(sys, p)
		return errno
	})
}

// SendTo sends p as one datagram. ipv6 says that the socket is an IPv6 socket.
// Only tasks may call it.
func (f *FD) SendTo(t kernel.Task, p []byte, to Peer, six bool) (n int, err error) {
	return f.sendBy(t, "sendto", len(p), func(sys int) syscall.Errno { return sendTo(sys, p, to, six) })
}

// retryFirst and retryMax are the pauses before a datagram is tried again on a
// Unix socket whose receiver had no room. An unconnected sender gets no report
// from the kernel about the receiver's queue. Each attempt causes a report of
// its own, so reports are ignored in the pauses.
const (
	retryFirst = time.Millisecond
	retryMax   = 64 * time.Millisecond
)

// sendBy tries op, which sends all or nothing.
func (f *FD) sendBy(t kernel.Task, call string, size int, op func(sys int) syscall.Errno) (int, error) {
	s := &f.write
	if err := s.Take(t); err != nil {
		return 0, err
	}
	var again kernel.Timer
	pause := retryFirst
	err := s.attempt(t, "write", func() syscall.Errno {
		errno := op(f.sys)
		if errno == syscall.EAGAIN && f.retries {
			f.ignoreWritable = true
			again = s.retry(pause)
			pause = min(2*pause, retryMax)
		}
		return errno
	})
	if again != nil {
		again.Cancel()
		f.ignoreWritable = false
		s.ready = true // a report was ignored, and another receiver may have room
	}
	s.Release()
	if err != nil {
		t.Spend(0)
		return 0, syscallError(call, err)
	}
	t.Spend(size)
	return size, nil
}

// retry makes the side ready again after a pause.
func (s *side) retry(pause time.Duration) kernel.Timer {
	return s.loop.CallAt(s.loop.Driver().Now()+int64(pause), func() {
		s.fd.ignoreWritable = false
		s.Ready(driver.Writable)
	})
}

package fd

// How the operations of tasks wait, wherever an operation is one that never blocks:
// a system call on a descriptor (sys_raw.go), or a call to a socket of the driver
// (sys_virtual.go). It is tried, and tried again when the driver has reported that it
// may succeed.
//
// A descriptor is registered with the driver at the first EAGAIN, in the
// direction that returned it, and stays registered. Reports are edges. Two
// things follow. No task waits before the kernel has said that there is nothing
// to do, or has shown it by returning less than was asked for (epoll(7), "for
// stream-oriented files"). And a short read is no proof once a hang-up was
// reported, because its edge may have been the last one; nor where a read ends
// before the data does: at the bounds of packets, before urgent data (tcp(7)),
// and on a Unix socket at a message that carries descriptors (unix(7)).

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// chunkMax is the most that one system call is asked to move, so that one large
// buffer does not keep the other tasks waiting.
const chunkMax = 1 << 20

// Prepare makes what a task needs that waits to read. Nearly every socket has
// one, and an allocation there might make its small stack grow; see readTask.
func (f *FD) Prepare() { f.read.makeWaiter() }

// attempt calls op until it returns something else than EAGAIN, and waits in
// between. The caller holds the side.
func (s *side) attempt(t kernel.Task, what string, op func() syscall.Errno) error {
	if err := s.enter(t); err != nil {
		return err
	}
	for {
		if s.ready {
			s.reported = false
			switch errno := op(); errno {
			case 0:
				if s.moved = true; s.hungUp {
					s.fd.forgetHangUps() // op may have seen the end of the stream
				}
				return nil
			case syscall.EINTR:
				continue
			case syscall.EAGAIN:
				s.ready = false
			default:
				s.fd.forgetHangUps()
				return errno
			}
		}
		if err := s.await(t, what); err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
	}
}

// Ready is called by the driver.
func (s *side) Ready(ev driver.Events) {
	if s.fd.ignoreWritable && s.want == driver.Writable {
		return
	}
	if ev&(driver.HangUp|driver.Urgent) != 0 {
		s.unsure = true
	}
	s.ready = true
	s.reported = ev != driver.Urgent
	if ev&driver.HangUp != 0 && s.want == driver.Readable {
		if s.hungUp = true; !s.waiting() { // else the task that waits here finds out
			s.fd.noteHangUp()
		}
	}
	if ev != driver.Urgent || s.watch == nil {
		s.Wake()
	}
}

// await waits until the driver reports.
func (s *side) await(t kernel.Task, what string) error {
	s.prepare()
	if err := s.register(); err != nil {
		return err
	}
	return s.Park(t, kernel.Reason{What: what, On: s.fd.number()})
}

// prepare sets the timer of the deadline before a wait. register comes next, and is not
// called here because it leads to the deepest call of a task that reads.
func (s *side) prepare() {
	if s.waiter == nil {
		s.makeWaiter()
		s.waiter.Name(s.fd.unpackPeer())
	}
	s.setTimer()
}

// unpackPeer returns the peer that a waiting task shows. It may be kept in a
// smaller form, which those who look from outside cannot read, until a task waits.
//
//go:noinline
func (f *FD) unpackPeer() any {
	if p, ok := f.peer.(interface{ Unpack() net.Addr }); ok {
		f.peer = p.Unpack()
	}
	return f.peer
}

// number is what a Reason says of the descriptor; 0 for a socket of the driver.
func (f *FD) number() uint64 { return uint64(max(f.sys, 0)) }

// readNow is attempt and all that it calls, written out. Most connections of a
// server wait to be read, and each keeps on its stack the frames between its
// handler and the switch. Written out, they fit into the 2 KiB that a stack has
// at first; TestStackOfReader in package socket holds this.
func (f *FD) readNow(t kernel.Task, p []byte) (int, error) {
	s := &f.read
	if err := s.Take(t); err != nil {
		return 0, err
	}
	err := s.enter(t)
	if len(p) == 0 && err == os.ErrDeadlineExceeded {
		err = nil // as in package net
	}
	for err == nil && len(p) > 0 {
		if s.ready {
			s.reported = false
			n, errno := f.receive(p)
			if errno == 0 {
				return s.received(t, n, len(p))
			}
			if errno == syscall.EINTR {
				continue
			}
			if errno != syscall.EAGAIN {
				err = errno
				f.forgetHangUps()
				break
			}
			s.ready = false
		}
		s.prepare()
		if err = s.register(); err != nil {
			break
		}
		s.loop.AddWakers(1)
		err = s.waiter.ParkTask(t, kernel.Reason{What: "read", On: f.number()})
		s.loop.AddWakers(-1)
		if err == nil {
			err = s.check()
		}
	}
	s.Release()
	t.Spend(0)
	return 0, syscallError("read", err)
}

// chunk returns how much of n bytes one system call gets. Packets are not cut.
func (f *FD) chunk(n int) int {
	if f.packets {
		return n
	}
	return min(n, chunkMax)
}

func (f *FD) receive(p []byte) (int, syscall.Errno) {
	p = p[:f.chunk(len(p))]
	if f.socket {
		return receive(f.sys, p)
	}
	if f.Virtual() != nil {
		return f.receiveVirtual(p)
	}
	return read(f.sys, p)
}

// received ends a read that returned n bytes of those it asked for.
func (s *side) received(t kernel.Task, n, asked int) (int, error) {
	if n > 0 && n < min(asked, chunkMax) && !s.unsure && !s.fd.partial {
		s.ready = false
	}
	s.Release()
	if n == 0 {
		s.fd.forgetHangUps()
		return 0, io.EOF
	}
	if s.moved = true; s.hungUp {
		s.fd.noteHangUp()
	}
	t.Spend(n)
	return n, nil
}

// writeNow writes all of p.
func (f *FD) writeNow(t kernel.Task, p []byte) (n int, err error) {
	s := &f.write
	if len(p) == 0 && !f.packets {
		return 0, s.enter(t)
	}
	for {
		m, err := s.push(t, p[n:n+f.chunk(len(p)-n)])
		if err != nil {
			f.wrotePart(t, 0, false)
			return n, syscallError("write", err)
		}
		if n += m; n < len(p) {
			f.wrotePart(t, m, true)
			continue
		}
		if n > m {
			f.wrotePart(t, m, false)
		} else {
			t.Spend(m)
		}
		return n, nil
	}
}

// push is attempt for a write, written out as readNow is: a handler that answers has its
// deepest calls here.
func (s *side) push(t kernel.Task, p []byte) (int, error) {
	if err := s.enter(t); err != nil {
		return 0, err
	}
	for {
		if s.ready {
			switch m, errno := s.fd.send(p); errno {
			case 0:
				if s.moved = true; s.fd.read.hungUp {
					s.fd.noteHangUp()
				}
				return m, nil
			case syscall.EINTR:
				continue
			case syscall.EAGAIN:
				s.ready = false
			default:
				s.fd.forgetHangUps()
				return 0, errno
			}
		}
		if err := s.await(t, "write"); err != nil {
			return 0, err
		}
		if err := s.check(); err != nil {
			return 0, err
		}
	}
}

// TryWrite writes what can be written of p without a wait, and returns how much that is: nothing
// while another writes, past the deadline, after an error, which the next Write finds, on a
// goroutine that is not the loop's, and where an operation of a task is one of Std.
func (f *FD) TryWrite(p []byte) int {
	s := &f.write
	if !f.read.loop.Inside() || !s.lock.Try() {
		return 0
	}
	defer s.Release()
	if s.check() != nil || s.armed && !s.ready {
		return 0
	}
	for {
		n, errno := f.send(p[:f.chunk(len(p))])
		switch errno {
		case 0:
			if s.moved = true; f.read.hungUp {
				f.noteHangUp()
			}
			return n
		case syscall.EINTR:
		case syscall.EAGAIN:
			s.ready = false
			return 0
		default:
			return 0
		}
	}
}

func (f *FD) send(p []byte) (int, syscall.Errno) {
	if f.socket {
		return send(f.sys, p)
	}
	if f.Virtual() != nil {
		return f.sendVirtual(p)
	}
	return write(f.sys, p)
}

// Each operation counts against the task's share of a turn, also a failed one: a
// task that tries again and again must not hold the loop.

// syscallError adds the name of the failed system call.
func syscallError(call string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return os.NewSyscallError(call, errno)
	}
	return err
}

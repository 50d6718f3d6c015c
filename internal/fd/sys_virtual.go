package fd

// An FD of a socket of the driver. It has no descriptor and no Std: only tasks of its
// loop use it, and the driver closes what a dropped one leaves.

import (
	"errors"
	"syscall"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A Peer is the address of an end of a socket.
type Peer = driver.Peer

// errForeign is the error of a goroutine that uses a simulated socket.
var errForeign error = foreign{}

type foreign struct{}

func (foreign) Error() string {
	return "a simulated socket belongs to the tasks of its host; this goroutine is none of them, or asks for a descriptor or a file, which there is not in a simulation; with Goroutines in the Config of a cluster, goroutines may use it too"
}

func (foreign) Is(err error) bool { return err == errors.ErrUnsupported }

// NewVirtual returns an FD of a socket of the loop's driver.
func NewVirtual(loop kernel.Loop, v driver.Socket) *FD {
	f := &FD{sys: -1, onLoop: true, extra: &extra{virtual: v, visits: new(visits)}}
	f.begin(loop)
	f.partial = !v.Short()
	return f
}

// Virtual returns the socket of the driver that this is, or nil. Any goroutine may call it, without
// mu: an FD that can make a Std is none, and gets its extra at any time; the others never do.
func (f *FD) Virtual() driver.Socket {
	if f.makeStd != nil || f.extra == nil {
		return nil
	}
	return f.extra.virtual
}

// OnVirtual calls op with the socket of the driver, for an operation that does not
// wait. The caller has seen that there is one.
func (f *FD) OnVirtual(op func(v driver.Socket) error) error {
	if !f.read.loop.Inside() {
		if done, err := f.onVisit(driver.Gives, func(v driver.Socket) { _ = op(v) }); done {
			return err
		}
		return errForeign
	}
	if err := f.sync(); err != nil {
		return err
	}
	return op(f.Virtual())
}

// disarmVirtual disarms the socket of the driver, and reports whether there is one.
func (f *FD) disarmVirtual(which driver.Events) bool {
	v := f.Virtual()
	if v == nil {
		return false
	}
	v.Disarm(which)
	return true
}

// closeVirtual closes the socket of the driver, if there is one. After the loop's end
// the driver has closed it.
func (f *FD) closeVirtual() {
	if v := f.Virtual(); v != nil && f.read.loop.Inside() {
		v.Close()
	}
}

// receiveVirtual and sendVirtual are functions of their own, because a Peer would be on
// the stack of every task that reads or writes.
//
//go:noinline
func (f *FD) receiveVirtual(p []byte) (int, syscall.Errno) {
	n, _, errno := f.Virtual().Receive(p)
	return n, errno
}

//go:noinline
func (f *FD) sendVirtual(p []byte) (int, syscall.Errno) { return f.Virtual().Send(p, Peer{}) }

// AcceptVirtual is Accept for a socket of the driver.
func (f *FD) AcceptVirtual(t kernel.Task) (v driver.Socket, peer Peer, err error) {
	s := &f.read
	if err := s.Take(t); err != nil {
		return nil, Peer{}, err
	}
	err = s.attempt(t, "accept", func() (errno syscall.Errno) {
		v, peer, errno = f.Virtual().Accept()
		return errno
	})
	s.Release()
	returned := false
	defer func() {
		if !returned && err == nil {
			v.Close() // a callback's Goexit unwinds the task that yields
		}
	}()
	t.Spend(0)
	returned = true
	return v, peer, syscallError("accept", err)
}

// ConnectVirtual is Connect for a socket of the driver.
func (f *FD) ConnectVirtual(t kernel.Task, to Peer) error {
	s := &f.write
	if err := s.Take(t); err != nil {
		return err
	}
	defer s.Release()
	if to.Name != "" {
		// A Unix socket never waits: EAGAIN says that its peer has no room.
		if err := s.enter(t); err != nil {
			return err
		}
		if errno := f.Virtual().Connect(to); errno != 0 {
			return syscallError("connect", errno)
		}
		return nil
	}
	return syscallError("connect", s.attempt(t, "connect", func() syscall.Errno { return f.Virtual().Connect(to) }))
}

// ReceiveVirtual waits for a datagram of a socket of the driver.
func (f *FD) ReceiveVirtual(t kernel.Task, p []byte) (n int, from Peer, err error) {
	s := &f.read
	if err := s.Take(t); err != nil {
		return 0, Peer{}, err
	}
	err = s.attempt(t, "read", func() (errno syscall.Errno) {
		n, from, errno = f.Virtual().Receive(p)
		return errno
	})
	s.Release()
	t.Spend(n)
	return n, from, syscallError("recvfrom", err)
}

// SendVirtual sends p as one datagram of a socket of the driver.
func (f *FD) SendVirtual(t kernel.Task, p []byte, to Peer) (n int, err error) {
	s := &f.write
	if err := s.Take(t); err != nil {
		return 0, err
	}
	err = s.attempt(t, "write", func() (errno syscall.Errno) {
		n, errno = f.Virtual().Send(p, to)
		return errno
	})
	s.ready = true // another receiver may have room
	s.Release()
	t.Spend(n)
	return n, syscallError("sendto", err)
}

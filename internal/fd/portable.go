//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

// The loop's own face where its driver watches no descriptors: there is none,
// and a task borrows the other. Its operation is a call to the standard library
// on a goroutine, for which the task waits.
//
// A cancelled task must not leave before its goroutine is back, for that reads
// into the task's memory. So the goroutine is fetched: by a deadline in the
// past, which is put right again afterwards. What it brings back counts, if it
// was done after all. A foreign operation on the same face that fails by such a
// deadline is tried again.

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Supported fails, with an error that is errors.ErrUnsupported, if the loop's
// driver knows no world outside.
func Supported(loop kernel.Loop) error {
	if loop.Driver().Virtual() {
		return errUnsupported
	}
	return nil
}

func (f *FD) open() error { return nil }

func (f *FD) disarm() {}

func (f *FD) closeSys() {}

// A loan is what a side has borrowed of the other face. fd.mu guards it.
type loan struct {
	fetching bool // the deadline is in the past, to fetch a goroutine
	fetched  uint // how often it has been
	back     *sync.Cond
}

// lent tells whether the face's deadline is not the user's at the moment. The
// caller holds fd.mu.
func (s *side) lent() bool { return s.fetching }

// loans gives a number that disturbed will want.
func (s *side) loans() uint {
	s.fd.mu.Lock()
	defer s.fd.mu.Unlock()
	for s.fetching {
		s.wait()
	}
	return s.fetched
}

// disturbed tells whether err, of an operation that was begun when loans gave
// before, came of a deadline that was not the user's.
func (s *side) disturbed(before uint, err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	s.fd.mu.Lock()
	defer s.fd.mu.Unlock()
	for s.fetching {
		s.wait()
	}
	return s.fetched != before
}

func (s *side) wait() {
	if s.back == nil {
		s.back = sync.NewCond(&s.fd.mu)
	}
	s.back.Wait()
}

// fetch makes the goroutine that is out on the face come back, and restore
// undoes it.
func (s *side) fetch() {
	f := s.fd
	f.mu.Lock()
	defer f.mu.Unlock()
	s.fetching = true
	s.fetched++
	s.deadlineOf(f.face)(time.Unix(1, 0))
}

func (s *side) restore() {
	f := s.fd
	f.mu.Lock()
	defer f.mu.Unlock()
	s.fetching = false
	s.deadlineOf(f.face)(f.until[s.index()])
	if s.back != nil {
		s.back.Broadcast()
	}
}

func (s *side) index() int {
	if s.want == driver.Readable {
		return 0
	}
	return 1
}

// deadlineOf gives the function that sets the face's deadline for the side. It
// fails only if the face is closed, and then nobody has to be fetched.
func (s *side) deadlineOf(face Face) func(time.Time) error {
	if s.want == driver.Readable {
		return face.SetReadDeadline
	}
	return face.SetWriteDeadline
}

// Beside runs op on a goroutine, for which the task t waits. If the task's scope
// is cancelled, stop is called to make op return, and the task waits for that
// as well. Beside returns what op did, or the cause if all that op did was to
// heed stop; stopped tells its errors.
func Beside(loop kernel.Loop, t kernel.Task, why kernel.Reason, op func() error, stop, after func(), stopped func(error) bool) error {
	var (
		result error
		done   bool
		list   = loop.WaitList()
	)
	loop.Hold(1)
	loop.Lend(1)
	defer loop.Hold(-1)
	defer loop.Lend(-1)
	loop.Beside(func() {
		result = op()
		// The task waits, so the loop has not ended.
		_ = loop.Post(func() {
			done = true
			list.Wake()
		})
	})
	// With one processor the goroutine would wait for the runtime to take that
	// from a busy loop. Most operations are done at once, if they are begun.
	runtime.Gosched()
	cause := list.Park(t.Scope(), why)
	if cause == nil || done {
		return result
	}
	stop()
	_ = t.Shield(func(ctx context.Context) error { return list.Park(ctx, why) })
	after()
	if result != nil && stopped(result) {
		return cause
	}
	return result
}

// Do runs op, a call to the face, for a task. Only tasks may call it.
func (f *FD) Do(t kernel.Task, which driver.Events, what string, op func() error) error {
	s := f.side(which)
	if err := s.Take(t); err != nil {
		return err
	}
	err := s.do(t, what, op)
	s.Release()
	t.Spend(0)
	return err
}

// do is Do for who holds the side's lock.
func (s *side) do(t kernel.Task, what string, op func() error) error {
	if err := s.enter(t); err != nil {
		return err
	}
	return Beside(s.fd.loop, t, kernel.Reason{What: what}, op, s.fetch, s.restore, func(err error) bool {
		return errors.Is(err, os.ErrDeadlineExceeded)
	})
}

func (f *FD) readTask(t kernel.Task, p []byte) (n int, err error) {
	if err := f.read.Take(t); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		err = f.read.enter(t)
	} else {
		err = f.read.do(t, "read", func() (err error) {
			n, err = f.face.Read(p)
			return err
		})
	}
	f.read.Release()
	t.Spend(n)
	return n, err
}

func (f *FD) writeTask(t kernel.Task, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, f.write.enter(t)
	}
	err = f.write.do(t, "write", func() (err error) {
		n, err = f.face.Write(p)
		return err
	})
	t.Spend(n)
	return n, err
}

// Control runs op with a descriptor that stays open meanwhile.
func (f *FD) Control(op func(sys uintptr)) error {
	raw, err := f.rawFace()
	if err != nil {
		return err
	}
	return raw.Control(op)
}

// Wait waits until op, which is given the descriptor, reports that it is done;
// it is tried each time that the direction may have become possible. Only tasks
// may call it.
func (f *FD) Wait(t kernel.Task, which driver.Events, op func(sys uintptr) bool) error {
	raw, err := f.rawFace()
	if err != nil {
		return err
	}
	if which == driver.Readable {
		return f.Do(t, which, "read", func() error { return raw.Read(op) })
	}
	return f.Do(t, which, "write", func() error { return raw.Write(op) })
}

func (f *FD) rawFace() (syscall.RawConn, error) {
	f.mu.Lock()
	face, closed := f.face, f.closed
	f.mu.Unlock()
	if closed {
		return nil, net.ErrClosed
	}
	return rawOf(face)
}

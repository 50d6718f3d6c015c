//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

// Operations of tasks where the driver watches no descriptors: the loop has
// none, and a task uses Std. Its operation is a call to the standard library on
// another goroutine, and the task waits for it.
//
// A cancelled task must not return before its goroutine has: that one reads
// into the task's memory. So the goroutine is interrupted by a deadline in the
// past, which is set right afterwards. If the operation succeeded all the same,
// its result counts. An operation of another goroutine on the same Std that
// fails by such a deadline is tried again.

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Supported fails, with an error that is errors.ErrUnsupported, if the loop is
// a simulation.
func Supported(loop kernel.Loop) error {
	if loop.Driver().Simulation() != nil {
		return errUnsupported
	}
	return nil
}

func (f *FD) open() error { return nil }

func (f *FD) disarm() { f.disarmVirtual(driver.Readable | driver.Writable) }

func (f *FD) closeSys() { f.closeVirtual() }

// There are no descriptors: only a socket of the driver comes here.

func (s *side) register() error {
	if !s.armed {
		s.fd.Virtual().Arm(s.want, s)
		s.armed = true
	}
	return nil
}

func receive(int, []byte) (int, syscall.Errno) { return 0, syscall.EBADF }
func send(int, []byte) (int, syscall.Errno)    { return 0, syscall.EBADF }
func read(int, []byte) (int, syscall.Errno)    { return 0, syscall.EBADF }
func write(int, []byte) (int, syscall.Errno)   { return 0, syscall.EBADF }

// An interruption says whether a side's operations on Std are interrupted.
// fd.mu guards it.
type interruption struct {
	interrupting bool // the deadline is in the past
	interrupted  uint // how often it was
	ended        bool // EndReads was called
	back         *sync.Cond
}

// EndReads calls shut, which ends the receiving side of Std. From then on reads return
// io.EOF once there is no data left, also those that wait. On Windows a receive that waits
// may fail as soon as shut is called, or go on, and later ones fail.
func (f *FD) EndReads(shut func() error) error {
	f.setEnded(true)
	if err := shut(); err != nil {
		f.setEnded(false)
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.std().SetReadDeadline(time.Unix(1, 0)) // fails only if Std is closed
	return nil
}

func (f *FD) setEnded(ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read.ended = ended
}

// endOfReads returns the error of a read, which is io.EOF after EndReads.
func (f *FD) endOfReads(n int, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n == 0 && err != nil && f.read.ended && !f.closed && !f.read.interrupting {
		return io.EOF
	}
	return err
}

// isInterrupted reports whether Std's deadline is not the user's at the moment.
// The caller holds fd.mu.
func (s *side) isInterrupted() bool { return s.interrupting }

// interrupts returns a count that wasInterrupted takes.
func (s *side) interrupts() uint {
	s.fd.mu.Lock()
	defer s.fd.mu.Unlock()
	for s.interrupting {
		s.wait()
	}
	return s.interrupted
}

// wasInterrupted reports whether err comes from a deadline that was not the
// user's. before is the count that interrupts returned when the operation
// began.
func (s *side) wasInterrupted(before uint, err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	s.fd.mu.Lock()
	defer s.fd.mu.Unlock()
	for s.interrupting {
		s.wait()
	}
	return s.interrupted != before
}

func (s *side) wait() {
	if s.back == nil {
		s.back = sync.NewCond(&s.fd.mu)
	}
	s.back.Wait()
}

// interrupt makes the operation on Std return, and restore undoes it.
func (s *side) interrupt() {
	f := s.fd
	f.mu.Lock()
	defer f.mu.Unlock()
	s.interrupting = true
	s.interrupted++
	s.deadlineOf(f.std())(time.Unix(1, 0))
}

func (s *side) restore() {
	f := s.fd
	f.mu.Lock()
	defer f.mu.Unlock()
	s.interrupting = false
	s.deadlineOf(f.std())(f.deadline(s.index()))
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

// deadlineOf returns the function that sets Std's deadline for the side. It
// fails only if Std is closed, and then there is nothing to interrupt.
func (s *side) deadlineOf(std Std) func(time.Time) error {
	if s.want == driver.Readable {
		return std.SetReadDeadline
	}
	return std.SetWriteDeadline
}

// Block runs op on another goroutine; the task t waits for it. If the task's
// scope is cancelled, Beside calls stop, which makes op return, waits for that
// as well, and calls after. It returns op's result, or the cause if op failed
// only because of stop; stopped recognises such errors.
func Block(loop kernel.Loop, t kernel.Task, why kernel.Reason, op func() error, stop, after func(), stopped func(error) bool) error {
	var (
		result error
		done   bool
		list   = loop.WaitList()
	)
	loop.AddWakers(1)
	loop.AddHelpers(1)
	defer loop.AddWakers(-1)
	defer loop.AddHelpers(-1)
	loop.GoFunc(func() {
		result = op()
		// The task waits, so the loop has not ended.
		_ = loop.Post(func() {
			done = true
			list.Wake()
		})
	})
	// With one processor the goroutine would wait until the runtime preempts a
	// busy loop. Most operations are done at once, if they are started.
	runtime.Gosched()
	cause := list.ParkTask(t, why)
	if cause == nil || done {
		return result
	}
	stop()
	// stop and Shield may take a turn, in which op returns and wakes nobody.
	_ = t.Shield(func(ctx context.Context) error {
		if done {
			return nil
		}
		return list.Park(ctx, why)
	})
	after()
	if result != nil && stopped(result) {
		return cause
	}
	return result
}

// Do runs op, a call to Std, for a task. Only tasks may call it.
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

// do is Do for a task that holds the side.
func (s *side) do(t kernel.Task, what string, op func() error) error {
	if err := s.enter(t); err != nil {
		return err
	}
	return Block(s.loop, t, kernel.Reason{What: what}, op, s.interrupt, s.restore, func(err error) bool {
		return errors.Is(err, os.ErrDeadlineExceeded)
	})
}

func (f *FD) readTask(t kernel.Task, p []byte) (n int, err error) {
	if f.Virtual() != nil {
		return f.readNow(t, p)
	}
	if err := f.read.Take(t); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		if err = f.read.enter(t); err == os.ErrDeadlineExceeded {
			err = nil // as in package net
		}
	} else {
		f.read.reported = false
		err = f.read.do(t, "read", func() (err error) {
			n, err = f.std().Read(p)
			return f.endOfReads(n, err)
		})
	}
	f.read.Release()
	t.Spend(n)
	return n, err
}

func (f *FD) writeTask(t kernel.Task, p []byte) (n int, err error) {
	if f.Virtual() != nil {
		return f.writeNow(t, p)
	}
	if len(p) == 0 && !f.packets {
		return 0, f.write.enter(t)
	}
	err = f.write.do(t, "write", func() (err error) {
		n, err = f.std().Write(p)
		return err
	})
	t.Spend(n)
	return n, err
}

// Control runs op with a descriptor that stays open during the call.
func (f *FD) Control(op func(sys uintptr)) error {
	raw, err := f.rawStd()
	if err != nil {
		return err
	}
	return raw.Control(op)
}

// Wait calls op with the descriptor until op reports that it is done. It calls
// op again each time the direction may have become possible. Only tasks may
// call it.
func (f *FD) Wait(t kernel.Task, which driver.Events, op func(sys uintptr) bool) error {
	raw, err := f.rawStd()
	if err != nil {
		return err
	}
	if which == driver.Readable {
		return f.Do(t, which, "read", func() error { return raw.Read(op) })
	}
	return f.Do(t, which, "write", func() error { return raw.Write(op) })
}

func (f *FD) rawStd() (syscall.RawConn, error) {
	f.mu.Lock()
	std, closed, virtual := f.std(), f.closed, f.Virtual() != nil
	f.mu.Unlock()
	switch {
	case closed:
		return nil, net.ErrClosed
	case virtual:
		return nil, errForeign
	}
	return rawOf(std)
}

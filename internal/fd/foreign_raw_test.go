//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// What goroutines do to an FD holds for tasks at once, also if the loop has not heard of it.

// TestBesideTheLoop: data has come, and a goroutine sets a deadline or closes the FD. A task's
// operation that begins afterwards fails.
func TestBesideTheLoop(t *testing.T) {
	passed := time.Unix(1, 0)
	for name, c := range map[string]struct {
		op   func(f *fd.FD) error
		want error
	}{
		"a deadline": {func(f *fd.FD) error { return f.SetDeadline(driver.Readable|driver.Writable, passed) }, os.ErrDeadlineExceeded},
		"Close":      {(*fd.FD).Close, net.ErrClosed},
	} {
		runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
			if _, err := peer.Write([]byte("xx")); err != nil {
				return err
			}
			if _, err := f.Read(make([]byte, 1)); err != nil {
				return err
			}
			var err error
			beside(func() { err = c.op(f) })
			n, failed := f.Read(make([]byte, 1))
			m, alsoFailed := f.Write(make([]byte, 1))
			if n != 0 || failed != c.want || m != 0 || alsoFailed != c.want {
				t.Errorf("%s: Read returned %d and %v, Write %d and %v", name, n, failed, m, alsoFailed)
			}
			return err
		})
	}
}

// TestStdOpened: from the first use by a goroutine on, its operations may have been any.
func TestStdOpened(t *testing.T) {
	runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
		f.WatchHangUps(new(bell), true)
		if err := peer.Close(); err != nil {
			return err
		}
		for hungUp := false; !hungUp; hungUp, _ = f.HungUp() { // until the driver reports
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if read, wrote := f.Activity(); read || wrote || !f.CanUnwatch() {
			t.Errorf("read: %v, wrote: %v", read, wrote)
		}
		if _, err := f.Std(); err != nil {
			return err
		}
		read, wrote := f.Activity()
		if hungUp, atEnd := f.HungUp(); !read || !wrote || hungUp || atEnd {
			t.Errorf("with a Std: read: %v, wrote: %v, hung up: %v, at the end: %v", read, wrote, hungUp, atEnd)
		}
		return nil
	})
}

// TestControl: tasks and goroutines are shown the descriptor, until it is closed. A task that waits
// by Wait tries first, whatever was read before.
func TestControl(t *testing.T) {
	runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
		shown := 0
		control := func() error { return f.Control(func(uintptr) { shown++ }) }
		err := control()
		beside(func() { err = errors.Join(err, control(), control()) })
		if shown != 3 {
			t.Errorf("shown %d times, want 3", shown)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		beside(func() { err = control() })
		if failed := control(); err != net.ErrClosed || failed != net.ErrClosed || shown != 3 {
			t.Errorf("after Close: %v and %v", err, failed)
		}
		return nil
	})
	runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
		if _, err := peer.Write([]byte("x")); err != nil {
			return err
		}
		if _, err := f.Read(make([]byte, 2)); err != nil {
			return err
		}
		wait := started(ctx, func() (int, error) {
			return 0, f.Wait(f.Task("Wait"), driver.Readable, func(uintptr) bool { return true })
		})
		if !wait.Done() {
			t.Error("Wait has not tried")
		}
		return nil
	})
}

// A std is a Std whose Close waits and whose deadlines fail, if it says so.
type std struct {
	fd.Std
	closing  chan struct{}
	closed   int
	deadline error
}

func (s *std) Close() error {
	if s.closing != nil {
		<-s.closing
	}
	s.closed++
	return s.Std.Close()
}

func (s *std) SetReadDeadline(time.Time) error { return s.deadline }

// TestStdFails: a Std that cannot have the deadline is closed and not used, and one without a
// descriptor is not for tasks.
func TestStdFails(t *testing.T) {
	run(t, func(ctx context.Context) error {
		loop := kernel.Of(ctx)
		one, two := net.Pipe()
		defer two.Close()
		s := &std{Std: one, deadline: io.ErrNoProgress}
		f := fd.New(loop, -1, func(int) (fd.Std, error) { return s, nil })
		later := time.Now().Add(time.Hour)
		if err := f.SetDeadline(driver.Readable, later); err != nil {
			return err
		}
		if _, err := f.Std(); err != s.deadline || s.closed != 1 {
			t.Errorf("Std: %v, closed %d times", err, s.closed)
		}
		s.deadline = nil
		if _, err := f.Std(); err != nil {
			return err
		}
		s.deadline = io.ErrNoProgress
		if err := f.SetDeadline(driver.Readable, later); err != s.deadline {
			t.Errorf("SetDeadline: %v", err)
		}
		adopted := fd.Adopt(loop, s)
		for range 2 {
			if _, err := adopted.Read(make([]byte, 1)); err == nil || err.Error() != "rondo: the connection has no file descriptor" {
				t.Errorf("Read in a task: %v", err)
			}
		}
		return errors.Join(f.Close(), adopted.Close())
	})
}

// TestCloseLingers: Close of a connection with a linger time does not stop the loop, and is done
// all the same.
func TestCloseLingers(t *testing.T) {
	run(t, func(ctx context.Context) error {
		one, two := net.Pipe()
		defer two.Close()
		s := &std{Std: one, closing: make(chan struct{})}
		f := fd.Adopt(kernel.Of(ctx), s)
		f.Linger(true)
		if err := f.Close(); err != nil {
			return err
		}
		close(s.closing) // here, Close has returned before that of the connection
		_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return two.Read(make([]byte, 1)) })
		if err != io.EOF {
			t.Errorf("the peer read %v", err)
		}
		return nil
	})
}

//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// socketPair returns a connected socket on the loop, which goroutines can use too, and its peer.
func socketPair(ctx context.Context) (f *fd.FD, peer *os.File, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, sys := range p {
		unix.CloseOnExec(sys)
		err = errors.Join(err, unix.SetNonblock(sys, true))
	}
	return fd.New(kernel.Of(ctx), p[0], stdOf), os.NewFile(uintptr(p[1]), "peer"), err
}

// runPair is run with a socketPair, which is closed at the end.
func runPair(t *testing.T, main func(ctx context.Context, f *fd.FD, peer *os.File) error) {
	t.Helper()
	run(t, func(ctx context.Context) error {
		f, peer, err := socketPair(ctx)
		if err != nil {
			return err
		}
		defer f.Close()
		defer peer.Close()
		return main(ctx, f, peer)
	})
}

// stdOf returns the connection of package net with a duplicate of sys.
func stdOf(sys int) (fd.Std, error) {
	double, err := unix.FcntlInt(uintptr(sys), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(double), "socket")
	defer file.Close()
	c, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return c.(fd.Std), nil
}

// TestEndOfSocket: what the system says of a socket whose peer has left.
func TestEndOfSocket(t *testing.T) {
	stays := func(*fd.FD, *os.File) error { return nil }
	sends := func(_ *fd.FD, peer *os.File) error { _, err := peer.Write([]byte("x")); return err }
	leaves := func(_ *fd.FD, peer *os.File) error { return peer.Close() }
	for name, c := range map[string]struct {
		peer        func(f *fd.FD, peer *os.File) error
		left, ended bool
	}{
		"stays":              {peer: stays},
		"sends":              {peer: sends},
		"leaves":             {peer: leaves, left: true, ended: true},
		"sends, then leaves": {peer: func(f *fd.FD, p *os.File) error { return errors.Join(sends(f, p), leaves(f, p)) }, left: true},
		"leaves data unread, which is an error": {left: true, ended: true, peer: func(f *fd.FD, p *os.File) error {
			_, err := f.Write([]byte("x"))
			return errors.Join(err, leaves(f, p))
		}},
	} {
		runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
			f.WatchHangUps(new(bell), true)
			err := c.peer(f, peer)
			ended := f.Ended()
			hungUp, atEnd := f.HungUp()
			for c.left && !hungUp && err == nil { // until the driver reports
				err = rondo.Yield(ctx)
				hungUp, atEnd = f.HungUp()
			}
			if ended != c.ended || hungUp != c.left || atEnd != c.ended {
				t.Errorf("the peer %s: ended: %v, hung up: %v, at the end: %v", name, ended, hungUp, atEnd)
			}
			return err
		})
	}
}

// TestReadElsewhere: a report says nothing any more once a goroutine may have read the data.
func TestReadElsewhere(t *testing.T) {
	runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
		var b bell
		come := func() error {
			_, err := peer.Write([]byte("x"))
			for rung := b.rung; b.rung == rung && err == nil; {
				err = rondo.Yield(ctx)
			}
			return err
		}
		for range 2 {
			if f.WatchInput(&b) {
				t.Error("there is nothing to read")
			}
			if err := come(); err != nil {
				return err
			}
			if !f.WatchInput(&b) {
				t.Error("there is something to read")
			}
			if _, err := rondo.Offload(ctx, func(context.Context) (int, error) { return f.Read(make([]byte, 1)) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestNotRegistered: a descriptor that the driver cannot watch is ready, and Read says why not.
func TestNotRegistered(t *testing.T) {
	run(t, func(ctx context.Context) error {
		f := fd.New(kernel.Of(ctx), 1<<20, stdOf)
		defer f.Close()
		if !f.WatchInput(new(bell)) {
			t.Error("nobody would find out")
		}
		if _, err := f.Read(make([]byte, 1)); !errors.Is(err, syscall.EBADF) {
			t.Errorf("Read: %v", err)
		}
		return nil
	})
}

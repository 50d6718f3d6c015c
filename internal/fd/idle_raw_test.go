//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"unsafe"
	"weak"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestNewAllocates holds what an idle connection costs: the FD, and the list of
// the task that waits to read. That of a task that waits to write is made when
// one waits.
func TestNewAllocates(t *testing.T) {
	run(t, func(ctx context.Context) error {
		loop := kernel.Of(ctx)
		var f *fd.FD
		if n := testing.AllocsPerRun(100, func() {
			f = fd.New(loop, -1, nil)
			f.Prepare()
		}); n != 2 {
			t.Errorf("New and Prepare make %v objects, want 2", n)
		}
		return f.Close()
	})
}

// TestSize: an FD fits into an object of 256 bytes, because a server may have very
// many.
func TestSize(t *testing.T) {
	if n := unsafe.Sizeof(fd.FD{}); n > 256 && unsafe.Sizeof(n) == 8 {
		t.Errorf("an FD has %d bytes, want 256 at most", n)
	}
}

// TestDetachForgets: the driver keeps nothing of an FD whose descriptor was taken away.
func TestDetachForgets(t *testing.T) {
	run(t, func(ctx context.Context) error {
		loop := kernel.Of(ctx)
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.SetNonblock(p[0], true)
		}
		if err != nil {
			return err
		}
		defer unix.Close(p[1])
		f := fd.New(loop, p[0], nil)
		kept := weak.Make(f)
		read := rondo.Go(ctx, func(context.Context) error {
			_, err := f.Read(make([]byte, 1))
			return err
		})
		err = rondo.Yield(ctx) // until it waits, and is registered
		_, written := unix.Write(p[1], []byte("x"))
		err = errors.Join(err, written, read.Wait(ctx))
		s, detached := f.Detach()
		f, read = nil, nil
		if runtime.GC(); kept.Value() != nil {
			t.Error("the FD is still there")
		}
		s.Stop(loop)
		s.Close(loop)
		return errors.Join(err, detached)
	})
}

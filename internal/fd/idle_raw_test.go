//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"testing"
	"unsafe"
	"weak"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/leak"
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

// TestForgets: the driver keeps nothing of an FD that was closed, or whose descriptor was taken
// away.
func TestForgets(t *testing.T) {
	for name, end := range map[string]func(f *fd.FD, loop kernel.Loop) error{
		"Close": func(f *fd.FD, _ kernel.Loop) error { return f.Close() },
		"Detach": func(f *fd.FD, loop kernel.Loop) error {
			s, err := f.Detach()
			s.Stop(loop)
			s.Close(loop)
			return err
		},
	} {
		run(t, func(ctx context.Context) error {
			f, peer, err := socketPair(ctx)
			if err != nil {
				return err
			}
			defer peer.Close()
			kept := weak.Make(f)
			read := reading(ctx, f, 1) // so it is registered
			_, written := peer.Write([]byte("x"))
			_, err = read.Wait(ctx)
			err = errors.Join(err, written, end(f, kernel.Of(ctx)))
			f, read = nil, nil
			if !leak.Collected(func() bool { return kept.Value() == nil }) {
				t.Errorf("%s: the FD is still there", name)
			}
			return err
		})
	}
}

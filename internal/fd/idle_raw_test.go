//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd_test

import (
	"context"
	"testing"
	"unsafe"

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

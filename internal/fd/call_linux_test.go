//go:build linux && !race && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMadeBlocking: a driver that cannot watch a descriptor that blocks watches it when it does not
// block any more. Other errors are those of the operation. Elsewhere the read itself would block.
func TestMadeBlocking(t *testing.T) {
	for _, c := range []struct {
		refuses syscall.Errno
		always  bool
		arms    int
	}{{refuses: syscall.EINVAL, arms: 2}, {refuses: syscall.EINVAL, always: true, arms: 2}, {refuses: syscall.ENOSPC, arms: 1}} {
		runNoted(t, nil, func(ctx context.Context, d *noted) error {
			f, peer, err := socketPair(ctx)
			if err != nil {
				return err
			}
			defer f.Close()
			defer peer.Close()
			d.refuse = func(fd uintptr) error {
				mode, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
				if c.always || mode&unix.O_NONBLOCK == 0 {
					return errors.Join(err, os.NewSyscallError("epoll_ctl", c.refuses))
				}
				return err
			}
			if err := f.Control(func(sys uintptr) { err = unix.SetNonblock(int(sys), false) }); err != nil {
				return err
			}
			d.said = nil
			read := reading(ctx, f, 1)
			if len(d.said) != c.arms {
				t.Errorf("%v: %q", c.refuses, d.said)
			}
			if _, err := peer.Write([]byte("x")); err != nil {
				return err
			}
			failed := c.always || c.refuses != syscall.EINVAL
			if n, err := read.Wait(ctx); n == 1 == failed || errors.Is(err, c.refuses) != failed {
				t.Errorf("%v: Read returned %d, %v", c.refuses, n, err)
			}
			return nil
		})
	}
}

//go:build !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestSendFileFails: a file that cannot be read has sent nothing, and the error names the call.
func TestSendFileFails(t *testing.T) {
	run(t, func(ctx context.Context) error {
		file, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		raw, err := file.SyscallConn()
		if err != nil {
			return err
		}
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer unix.Close(p[1])
		loop := kernel.Of(ctx)
		f := fd.New(loop, p[0], nil)
		n, err := f.SendFile(loop.Task(), raw, 10)
		var call *os.SyscallError
		if n != 0 || !errors.As(err, &call) || call.Syscall != "sendfile" || !errors.Is(err, syscall.EBADF) {
			t.Errorf("SendFile returned %d and %v", n, err)
		}
		return f.Close()
	})
}

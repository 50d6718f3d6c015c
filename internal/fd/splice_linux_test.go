//go:build !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
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

// TestSendFileHungUp: a task whose SendFile has failed knows that the peer has left.
func TestSendFileHungUp(t *testing.T) {
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
		self, err := os.Open(os.Args[0])
		if err != nil {
			return err
		}
		defer self.Close()
		raw, err := self.SyscallConn()
		if err != nil {
			return err
		}
		n, err := f.SendFile(f.Task("SendFile"), raw, 10)
		if hungUp, _ := f.HungUp(); n != 0 || !errors.Is(err, syscall.EPIPE) || hungUp {
			t.Errorf("SendFile: %d, %v; hung up: %v", n, err, hungUp)
		}
		self.Close()
		if n, err := f.SendFile(f.Task("SendFile"), raw, 10); n != 0 || err == nil {
			t.Errorf("SendFile of a closed file: %d, %v", n, err)
		}
		return nil
	})
}

// TestNotSupported: the errors after which the data is copied.
func TestNotSupported(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{
		syscall.EINVAL: true, syscall.ENOSYS: true, syscall.EOPNOTSUPP: true, syscall.EPERM: true, syscall.EPIPE: false,
	} {
		if got := fd.NotSupported(os.NewSyscallError("splice", errno)); got != want {
			t.Errorf("%v: %v, want %v", errno, got, want)
		}
	}
}

// TestTubeShares: a task that moves data from socket to socket and need not wait gives the others
// their turns.
func TestTubeShares(t *testing.T) {
	runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
		tube, err := fd.NewTube()
		if err != nil {
			return err
		}
		defer tube.Close()
		other := rondo.Go(ctx, func(context.Context) error { return nil })
		p := make([]byte, 1000)
		for range 1000 {
			if _, err := peer.Write(p); err != nil {
				return err
			}
			if n, err := f.Fill(f.Task("Fill"), tube, len(p)); n != len(p) || err != nil {
				return fmt.Errorf("Fill: %d, %w", n, err)
			}
			if n, err := f.Drain(f.Task("Drain"), tube); n != len(p) || err != nil {
				return fmt.Errorf("Drain: %d, %w", n, err)
			}
			if _, err := io.ReadFull(peer, p); err != nil {
				return err
			}
		}
		if !other.Done() {
			t.Error("the other task has had no turn")
		}
		return nil
	})
}

// TestDiscard: no more is dropped than was asked for.
func TestDiscard(t *testing.T) {
	s, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s[0])
	defer unix.Close(s[1])
	if _, err := unix.Write(s[1], make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	stream := fd.NewStream(s[0], true)
	for _, c := range []struct{ most, dropped int }{{35, 35}, {0, 0}, {20, 20}, {100, 45}, {1, 0}} {
		if n := stream.Discard(make([]byte, 10), c.most); n != c.dropped {
			t.Errorf("%d bytes were dropped of at most %d, want %d", n, c.most, c.dropped)
		}
	}
}

package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

// TestBacklog: no more connections than Backlog wait to be accepted.
func TestBacklog(t *testing.T) {
	run(t, func(ctx context.Context) error {
		lc := socket.ListenConfig{Backlog: 2}
		l, err := lc.Listen(ctx, "unix", fmt.Sprintf("@rondo-backlog-%d", os.Getpid()))
		if err != nil {
			return err
		}
		defer l.Close()
		for n := 0; ; n++ {
			c, err := socket.Dial(ctx, "unix", l.Addr().String())
			if err == nil {
				defer c.Close()
				if n < 4 {
					continue
				}
			}
			// listen(2): the kernel lets one more wait.
			if n != 3 || !errors.Is(err, syscall.EAGAIN) {
				t.Errorf("%d connections wait to be accepted, and then %v", n, err)
			}
			return nil
		}
	})
}

// TestUnixAbstractLongest: a datagram reaches every abstract name that bind accepts, from tasks and
// from goroutines: the longest one, and one in the system's notation. Its sender is named.
func TestUnixAbstractLongest(t *testing.T) {
	run(t, func(ctx context.Context) error {
		b := packets(t, ctx, "unixgram", fmt.Sprintf("@rondo-test-%d", os.Getpid()))
		prefix := fmt.Sprintf("rondo-test-%d-", os.Getpid())
		for _, name := range []string{"@" + prefix + strings.Repeat("x", 107-len(prefix)), "\x00" + prefix} {
			a := packets(t, ctx, "unixgram", name)
			err := everywhere(ctx, func(where string) error {
				if _, err := b.WriteTo([]byte(where), &net.UnixAddr{Name: name, Net: "unixgram"}); err != nil {
					t.Errorf("%s: to a name of %d bytes: %v", where, len(name), err)
					return nil
				}
				p := make([]byte, 20)
				n, from, err := a.ReadFrom(p)
				if err != nil || string(p[:n]) != where || from.String() != b.LocalAddr().String() {
					t.Errorf("%s: got %q from %v, %v", where, p[:n], from, err)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// TestUnixgramWithoutDescriptor: a datagram socket that was opened only in part
// leaves no file.
func TestUnixgramWithoutDescriptor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	run(t, func(ctx context.Context) error {
		// One descriptor may be opened, the socket's; the loop wants another.
		var free [2]*os.File
		for i := range free {
			f, err := os.Open(os.DevNull)
			if err != nil {
				return err
			}
			defer f.Close()
			free[i] = f
		}
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			return err
		}
		less := syscall.Rlimit{Cur: uint64(free[1].Fd()), Max: before.Max}
		free[0].Close()
		free[1].Close()
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &less); err != nil {
			return err
		}
		c, err := socket.ListenPacket(ctx, "unixgram", path)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			return err
		}
		if err == nil {
			return c.Close()
		}
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("ListenPacket: %v", err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
		return nil
	})
}

package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// stale leaves the file of a Unix socket that no process has open.
func stale(t testing.TB, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

// TestUnixStale: a stale socket file is replaced, and nothing else is.
func TestUnixStale(t *testing.T) {
	run(t, func(ctx context.Context) error {
		path := filepath.Join(t.TempDir(), "socket")
		stale(t, path)
		l, err := socket.Listen(ctx, "unix", path)
		if err != nil {
			return fmt.Errorf("a stale file: %w", err)
		}
		if _, err := socket.Listen(ctx, "unix", path); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("somebody listens, and Listen returned %v", err)
		}
		if _, err := socket.ListenPacket(ctx, "unixgram", path); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("somebody listens, and ListenPacket returned %v", err)
		}
		// The existing listener has noticed nothing of the check.
		accepted := rondo.Async(ctx, func(context.Context) (net.Conn, error) { return l.Accept() })
		c, err := socket.Dial(ctx, "unix", path)
		if err != nil {
			return err
		}
		defer c.Close()
		s, err := accepted.Wait(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		if _, err := io.WriteString(s, "x"); err != nil {
			return err
		}
		if n, err := c.Read(make([]byte, 1)); n != 1 {
			t.Errorf("the first connection is not the one that was dialled: %v", err)
		}
		if err := l.Close(); err != nil {
			return err
		}
		for what, make := range map[string]func() error{
			"a file":      func() error { return os.WriteFile(path, []byte("precious"), 0o600) },
			"a directory": func() error { return os.Mkdir(path, 0o700) },
			"a link":      func() error { stale(t, path+"2"); return os.Symlink(path+"2", path) },
		} {
			if err := make(); err != nil {
				return err
			}
			if _, err := socket.Listen(ctx, "unix", path); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("%s is in the way, and Listen returned %v", what, err)
			}
			if err := os.Remove(path); err != nil {
				t.Errorf("%s is gone: %v", what, err)
			}
		}
		return nil
	})
}

// TestUnixLookCloses: the look whether the file of a datagram socket is stale leaves no descriptor.
func TestUnixLookCloses(t *testing.T) {
	run(t, func(ctx context.Context) error {
		path := filepath.Join(t.TempDir(), "socket")
		packets(t, ctx, "unixgram", path)
		before := leak.Descriptors()
		if _, err := socket.ListenPacket(ctx, "unixgram", path); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("somebody receives, and ListenPacket returned %v", err)
		}
		if n := leak.Descriptors() - before; n > 0 {
			t.Errorf("%d descriptors are left", n)
		}
		return nil
	})
}

// TestUnixBound: a socket that is bound and does not listen yet is not stale.
func TestUnixBound(t *testing.T) {
	run(t, func(ctx context.Context) error {
		path := filepath.Join(t.TempDir(), "socket")
		sys, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer syscall.Close(sys)
		if err := syscall.Bind(sys, &syscall.SockaddrUnix{Name: path}); err != nil {
			return err
		}
		if _, err := socket.Listen(ctx, "unix", path); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("Listen returned %v", err)
		}
		return nil
	})
}

// TestUnixRemoved: Close removes the file that Listen has made, and never one
// that has replaced it.
func TestUnixRemoved(t *testing.T) {
	run(t, func(ctx context.Context) error {
		path := filepath.Join(t.TempDir(), "socket")
		first, err := socket.Listen(ctx, "unix", path)
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		second, err := socket.Listen(ctx, "unix", path)
		if err != nil {
			return err
		}
		if err := first.Close(); err != nil {
			return err
		}
		c, err := socket.Dial(ctx, "unix", path)
		if err != nil {
			return fmt.Errorf("the first has removed the second's file: %w", err)
		}
		c.Close()
		if err := second.Close(); err != nil {
			return err
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
		third, err := socket.Listen(ctx, "unix", path)
		if err != nil {
			return err
		}
		defer third.Close()
		if err := second.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the second Close returned %v", err)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("a Close of one that was closed has removed the file: %v", err)
		}
		return nil
	})
}

// TestUnixPacket: a connection that keeps the bounds of what is written. Two
// packets that arrive together are both read: a short first packet proves
// nothing.
func TestUnixPacket(t *testing.T) {
	run(t, func(ctx context.Context) error {
		path := filepath.Join(t.TempDir(), "socket")
		l, err := socket.Listen(ctx, "unixpacket", path)
		if errors.Is(err, syscall.EPROTONOSUPPORT) {
			return nil // this system has none
		}
		if err != nil {
			return err
		}
		defer l.Close()
		return everywhere(ctx, func(where string) error {
			c, err := socket.Dial(ctx, "unixpacket", path)
			if err != nil {
				return err
			}
			defer c.Close()
			s, err := l.Accept()
			if err != nil {
				return err
			}
			defer s.Close()
			p := make([]byte, 100)
			if where == "task" {
				// The reader waits already: it gets one report for both.
				first := rondo.Async(ctx, func(context.Context) (int, error) { return s.Read(p) })
				waiting(ctx, "read", 1)
				defer func() {
					if n, err := first.Wait(ctx); n != 1 || err != nil {
						t.Errorf("the first: %d, %v", n, err)
					}
				}()
				if _, err := io.WriteString(c, "0"); err != nil {
					return err
				}
			}
			for _, text := range []string{"one", "two"} {
				if _, err := io.WriteString(c, text); err != nil {
					return err
				}
			}
			for _, want := range []string{"one", "two"} {
				if n, err := s.Read(p); string(p[:n]) != want {
					t.Errorf("%s: got %q, %v; want %q", where, p[:n], err, want)
				}
			}
			if err := c.Close(); err != nil {
				return err
			}
			if n, err := s.Read(p); n != 0 || err != io.EOF {
				t.Errorf("%s: at the end: %d, %v", where, n, err)
			}
			return nil
		})
	})
}

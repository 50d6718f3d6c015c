package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestUnixAbstract: an abstract name has no file, and is free when the socket is
// closed.
func TestUnixAbstract(t *testing.T) {
	run(t, func(ctx context.Context) error {
		name := fmt.Sprintf("@rondo-test-%d", os.Getpid())
		for range 2 {
			l, err := socket.Listen(ctx, "unix", name)
			if err != nil {
				return err
			}
			if _, err := socket.Listen(ctx, "unix", name); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("bound twice: %v", err)
			}
			s := &socket.Server{Handler: echo}
			rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
			err = everywhere(ctx, func(where string) error {
				c, err := socket.Dial(ctx, "unix", name)
				if err != nil {
					return err
				}
				defer c.Close()
				if c.RemoteAddr().String() != name {
					t.Errorf("%s: connected to %v", where, c.RemoteAddr())
				}
				_, err = io.WriteString(c, "x")
				if n, err := c.Read(make([]byte, 1)); n != 1 {
					t.Errorf("%s: %v", where, err)
				}
				return err
			})
			if err != nil {
				return err
			}
			if err := s.Shutdown(ctx); err != nil {
				return err
			}
		}
		a := packets(t, ctx, "unixgram", name+"a")
		b := packets(t, ctx, "unixgram", name+"b")
		return everywhere(ctx, func(where string) error {
			if _, err := a.WriteTo([]byte("x"), b.LocalAddr()); err != nil {
				return err
			}
			if _, from, err := b.ReadFrom(make([]byte, 1)); err != nil || from.String() != name+"a" {
				t.Errorf("%s: from %v, %v", where, from, err)
			}
			return nil
		})
	})
}

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

// TestReusePort: listeners with ReusePort share a port, and each serves some of
// the connections; one without it is refused.
func TestReusePort(t *testing.T) {
	run(t, func(ctx context.Context) error {
		lc := socket.ListenConfig{ReusePort: true}
		var served [2]int
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addr := l.Addr().String()
		if _, err := socket.Listen(ctx, "tcp", addr); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("one that did not say so: %v", err)
		}
		m, err := lc.Listen(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		for i, l := range []*socket.Listener{l, m} {
			rondo.Go(ctx, func(ctx context.Context) error {
				defer l.Close()
				for {
					c, err := l.Accept()
					if ctx.Err() != nil {
						return nil
					}
					if err != nil {
						return err
					}
					served[i]++
					c.Close()
				}
			})
		}
		// That all of 200 go to one of two has a chance of 2 to the power of -199.
		for range 200 {
			c, err := socket.Dial(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the end of the connection: %v", err)
			}
			c.Close()
		}
		if served[0] == 0 || served[1] == 0 || served[0]+served[1] != 200 {
			t.Errorf("they have served %v", served)
		}
		return nil
	})
}

// TestUnixAbstractLongest: a datagram reaches every name that bind accepts,
// from tasks and from goroutines: the longest one, and one in the system's
// notation.
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
				n, err := a.Read(p)
				if string(p[:n]) != where {
					t.Errorf("%s: got %q", where, p[:n])
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

//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// plainPipe returns the two descriptors of a non-blocking pipe.
func plainPipe(t testing.TB) (r, w int) {
	t.Helper()
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		t.Fatal(err)
	}
	for _, fd := range p {
		syscall.CloseOnExec(fd)
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
	}
	return p[0], p[1]
}

// fill writes until EAGAIN.
func fill(t testing.TB, w int) {
	t.Helper()
	for {
		if _, err := syscall.Write(w, make([]byte, 4096)); err == syscall.EAGAIN {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestWaitWrite(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(r)
		defer syscall.Close(w)
		if err := socket.WaitWrite(ctx, uintptr(w)); err != nil {
			return err
		}
		fill(t, w)
		return both(ctx, func(ctx context.Context) error {
			return socket.WaitWrite(ctx, uintptr(w))
		}, func(ctx context.Context) error {
			waiting(ctx, "write", 1)
			_, err := syscall.Read(r, make([]byte, 1<<20))
			return err
		})
	})
}

// TestWaitReadEnds: the end of the stream, a regular file, a cancellation, and
// an invalid descriptor.
func TestWaitReadEnds(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(r)
		task := rondo.Go(ctx, func(ctx context.Context) error { return socket.WaitRead(ctx, uintptr(r)) })
		waiting(ctx, "read", 1)
		task.Cancel(nil)
		if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		err := both(ctx, func(ctx context.Context) error { return socket.WaitRead(ctx, uintptr(r)) },
			func(ctx context.Context) error {
				waiting(ctx, "read", 1)
				return syscall.Close(w)
			})
		if err != nil {
			t.Errorf("at the end of the stream: %v", err)
		}
		f, err := os.Open("/proc/self/exe")
		if err != nil {
			f, err = os.Open(os.Args[0])
		}
		if err != nil {
			return err
		}
		defer f.Close()
		if err := socket.WaitRead(ctx, f.Fd()); err != nil {
			t.Errorf("a regular file: %v", err)
		}
		// Cut to 32 bits, the second number is that of standard input.
		for _, sys := range []uint64{1 << 20, 1 << 40} {
			if err := socket.WaitRead(ctx, uintptr(sys)); !errors.Is(err, syscall.EBADF) {
				t.Errorf("WaitRead of %d: %v", sys, err)
			}
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(nil)
			if err := socket.WaitRead(g, f.Fd()); err != context.Canceled {
				t.Errorf("in a cancelled scope: %v", err)
			}
			return nil
		})
	})
}

// TestSyscallConn: Read and Write of the RawConn suspend until their function
// returns true.
func TestSyscallConn(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		raw, err := a.SyscallConn()
		if err != nil {
			return err
		}
		p := make([]byte, 5)
		read := func() error {
			n, tries := 0, 0
			err := raw.Read(func(fd uintptr) bool {
				var err error
				n, err = syscall.Read(int(fd), p)
				tries++
				return err != syscall.EAGAIN
			})
			if string(p[:n]) != "hello" {
				t.Errorf("read %q in %d tries", p[:max(n, 0)], tries)
			}
			return err
		}
		for _, op := range []func() error{read, func() error { return outside(ctx, read) }} {
			err := both(ctx, func(context.Context) error { return op() }, func(ctx context.Context) error {
				waiting(ctx, "read", 0)
				_, err := io.WriteString(b, "hello")
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := raw.Write(func(fd uintptr) bool { _, err := syscall.Write(int(fd), p); return err == nil }); err != nil {
			return err
		}
		if _, err := io.ReadFull(b, p); err != nil {
			return err
		}
		task := rondo.Go(ctx, func(context.Context) error { return raw.Write(func(uintptr) bool { return false }) })
		waiting(ctx, "write", 1)
		task.Cancel(nil)
		if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a Write that was cancelled: %v", err)
		}
		// The function may close the connection.
		if err := raw.Control(func(uintptr) { err = a.Close() }); err != nil {
			return err
		}
		if err := raw.Control(func(uintptr) { t.Error("called") }); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Control of a closed connection: %v", err)
		}
		return nil
	})
}

// TestWatchEnds: a watch ends with its scope, or with the loop, and leaves no
// descriptor behind.
func TestWatchEnds(t *testing.T) {
	before := leak.Descriptors()
	r, w := plainPipe(t)
	run(t, func(ctx context.Context) error {
		calls := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			socket.WatchWrite(g, uintptr(w), func() { calls++ })
			for calls < 3 {
				if err := rondo.Yield(g); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		// The end of the scope reaches the watch through a goroutine.
		for leak.Descriptors() > before+4 {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		seen := calls
		for range 200 {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if calls != seen {
			t.Errorf("called %d times after the scope's end", calls-seen)
		}
		socket.WatchRead(ctx, uintptr(r), func() {})
		return nil
	})
	syscall.Close(r)
	syscall.Close(w)
}

// TestWatchStopped: a watch that has ended wakes nobody, so the loop may be in deadlock, and
// nothing keeps it.
func TestWatchStopped(t *testing.T) {
	r, w := plainPipe(t)
	defer syscall.Close(r)
	defer syscall.Close(w)
	err := (&rondo.Runner{EndDeadlock: 1}).Run(context.Background(), func(ctx context.Context) error {
		var after [5]uint64
		grown := 0
		for i := range after {
			for range 200 {
				socket.WatchRead(ctx, uintptr(r), func() {})()
			}
			after[i] = objects()
			if i > 0 && after[i] > after[i-1]+200 {
				grown++
			}
		}
		if grown == len(after)-1 {
			t.Errorf("%d objects after each 200 watches", after)
		}
		return new(rondo.Event).Wait(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("%v", err)
	}
}

// TestWatchRegularFile: a regular file is always ready, so fn is called in each
// turn.
func TestWatchRegularFile(t *testing.T) {
	run(t, func(ctx context.Context) error {
		f, err := os.Open(os.Args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		done := rondo.NewFuture[int](ctx)
		calls := 0
		var stop func()
		stop = socket.WatchRead(ctx, f.Fd(), func() {
			if calls++; calls == 3 {
				stop()
				done.Set(calls)
			}
		})
		_, err = done.Wait(ctx)
		panics(t, "rondo: socket.WatchRead of descriptor 1048576: fcntl: bad file descriptor", func() { socket.WatchRead(ctx, 1<<20, func() {}) })
		return err
	})
}

// TestDialSelf: a socket that was connected to itself, because both ends have
// the same port, is tried again.
func TestDialSelf(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		here := l.Addr().(*net.TCPAddr)
		l.Close()
		tries := 0
		d := socket.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
			tries++
			var err error
			if e := c.Control(func(fd uintptr) {
				to := &syscall.SockaddrInet4{Port: here.Port, Addr: [4]byte{127, 0, 0, 1}}
				err = errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1), syscall.Bind(int(fd), to))
			}); e != nil {
				return e
			}
			return err
		}}
		c, err := d.DialContext(ctx, "tcp", here.String())
		if err == nil {
			c.Close()
		}
		if tries < 2 {
			t.Errorf("%d tries, and %v", tries, err)
		}
		return nil
	})
}

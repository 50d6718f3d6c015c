//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestC047WatchRead: the function is called once a turn as long as there is
// something to read, and not after stop, which any goroutine may call, and again.
func TestC047WatchRead(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(r)
		defer syscall.Close(w)
		called := 0
		stop := socket.WatchRead(ctx, uintptr(r), func() {
			called++
			if called == 3 {
				if n, err := syscall.Read(r, make([]byte, 10)); n != 1 {
					t.Errorf("read %d, %v", n, err)
				}
			}
		})
		if err := turns(ctx, 200); err != nil || called != 0 {
			t.Errorf("there was nothing, and it was called %d times", called)
		}
		if _, err := syscall.Write(w, []byte("x")); err != nil {
			return err
		}
		if err := turns(ctx, 200); err != nil || called != 3 {
			t.Errorf("called %d times until the byte was read, %v", called, err)
		}
		if _, err := syscall.Write(w, []byte("x")); err != nil {
			return err
		}
		stop()
		if err := outside(ctx, func() error { stop(); return nil }); err != nil {
			return err
		}
		if err := turns(ctx, 200); err != nil || called != 3 {
			t.Errorf("called %d times after the end, %v", called-3, err)
		}
		return nil
	})
}

// TestC048WatchTwice: unlike in asyncio, a second watch of a descriptor does
// not replace the first: both are called, and each ends on its own.
func TestC048WatchTwice(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(r)
		defer syscall.Close(w)
		var called [2]int
		var stops [2]func()
		for i := range stops {
			stops[i] = socket.WatchRead(ctx, uintptr(r), func() { called[i]++ })
		}
		if _, err := syscall.Write(w, []byte("x")); err != nil {
			return err
		}
		for called[0] == 0 || called[1] == 0 {
			if err := turns(ctx, 1); err != nil {
				return err
			}
		}
		stops[0]()
		before := called
		for called[1] < before[1]+3 {
			if err := turns(ctx, 1); err != nil {
				return err
			}
		}
		if called[0] != before[0] {
			t.Error("the first was called after its end")
		}
		stops[1]()
		return nil
	})
}

// TestC049WatchConn: a connection's descriptor may be watched. A duplicate is
// watched, so the connection's own waits lose nothing, and it goes on when the
// watch ends.
func TestC049WatchConn(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		raw, err := a.SyscallConn()
		if err != nil {
			return err
		}
		seen := 0
		var stop func()
		if err := raw.Control(func(fd uintptr) { stop = socket.WatchRead(ctx, fd, func() { seen++ }) }); err != nil {
			return err
		}
		p := make([]byte, 10)
		for i := range 3 {
			reader := rondo.Async(ctx, func(context.Context) (int, error) { return a.Read(p) })
			waiting(ctx, "read", 1)
			if i == 2 {
				stop()
			}
			before := seen
			if _, err := b.Write([]byte("hello")); err != nil {
				return err
			}
			if n, err := reader.Wait(ctx); n != 5 || err != nil {
				t.Errorf("Read beside a watch: %d, %v", n, err)
			}
			if i == 2 && seen != before {
				t.Error("it was called after its end")
			}
		}
		return nil
	})
}

// TestC228WaitTwice: two tasks may wait for one descriptor; in trio that is an
// error. Closing the descriptor ends no wait, because the wait is for the open
// file. So it never mistakes another file with the same number for its own. It
// ends with its scope.
func TestC228WaitTwice(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error { return socket.WaitRead(ctx, uintptr(r)) })
			}
			waiting(g, "read", 2)
			_, err := syscall.Write(w, []byte("x"))
			return err
		})
		if err != nil {
			return err
		}
		if _, err := syscall.Read(r, make([]byte, 1)); err != nil {
			return err
		}
		gone := errors.New("gone")
		waiter := rondo.Go(ctx, func(ctx context.Context) error { return socket.WaitRead(ctx, uintptr(r)) })
		waiting(ctx, "read", 1)
		other, feeder := plainPipe(t)
		defer syscall.Close(other)
		defer syscall.Close(feeder)
		if err := unix.Dup2(other, r); err != nil {
			return err
		}
		if _, err := syscall.Write(feeder, []byte("x")); err != nil {
			return err
		}
		if err := turns(ctx, 200); err != nil || waiter.Done() {
			t.Errorf("the wait took another file for its own: %v, %v", waiter.Err(), err)
		}
		waiter.Cancel(gone)
		if err := waiter.Wait(ctx); !errors.Is(err, gone) {
			t.Errorf("WaitRead returned %v", err)
		}
		return errors.Join(syscall.Close(r), syscall.Close(w))
	})
}

// TestWatchWithoutCancel: a watch whose ctx is never cancelled does not keep the loop from its end.
func TestWatchWithoutCancel(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if _, err := w.WriteString("x"); err != nil { // which nobody reads
			return err
		}
		n := 0
		stop := socket.WatchRead(context.WithoutCancel(ctx), r.Fd(), func() { n++ })
		t.Cleanup(func() { stop(); r.Close(); w.Close() })
		return until(ctx, func() bool { return n > 2 })
	})
}

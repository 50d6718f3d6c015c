//go:build linux && !rondo_portable

package socket_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/internal/poll"
	"github.com/rondo-go/rondo/socket"
	"golang.org/x/sys/unix"
)

// Linux allows about 100 nested epolls to watch an open file. The waits of a
// loop for one descriptor share a registration, and loops beyond the limit watch
// in another way.

// TestManyWait: 300 tasks wait for one blocking descriptor, beside 150 watches of it.
// Most tasks are cancelled, the first one too; the others are still woken.
func TestManyWait(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(r)
		defer syscall.Close(w)
		// Only registrations in an epoll take a blocking descriptor.
		if err := syscall.SetNonblock(r, false); err != nil {
			return err
		}
		before := leak.Descriptors()
		const watches, waits = 150, 300
		called := make([]bool, watches)
		stops := make([]func(), watches)
		for i := range stops {
			stops[i] = socket.WatchRead(ctx, uintptr(r), func() { called[i] = true; stops[i]() })
		}
		woken, cancelled := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			var tasks []*rondo.Task
			for range waits {
				tasks = append(tasks, g.Go(func(ctx context.Context) error {
					if socket.WaitRead(ctx, uintptr(r)) != nil {
						cancelled++
						return nil
					}
					woken++
					return nil
				}))
			}
			waiting(ctx, "read", waits)
			for _, task := range tasks[:250] {
				task.Cancel(nil)
			}
			waiting(ctx, "read", waits-250)
			_, err := syscall.Write(w, []byte("x"))
			return err
		})
		if woken != 50 || cancelled != 250 {
			t.Errorf("%d woken, want 50; %d cancelled, want 250", woken, cancelled)
		}
		for slices.Contains(called, false) {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if now := leak.Descriptors(); now != before {
			t.Errorf("%d descriptors before, %d after", before, now)
		}
		return err
	})
}

// TestWaitReadOfUsedNumber: a number is closed and used again while a task
// waits for it, which is a mistake. A task that waits for the new file is woken
// by that one.
func TestWaitReadOfUsedNumber(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(w)
		r2, w2 := plainPipe(t)
		defer syscall.Close(r2)
		defer syscall.Close(w2)
		old := rondo.Go(ctx, func(ctx context.Context) error { return socket.WaitRead(ctx, uintptr(r)) })
		waiting(ctx, "read", 1)
		if err := unix.Dup2(r2, r); err != nil {
			return err
		}
		defer syscall.Close(r)
		later := rondo.Go(ctx, func(ctx context.Context) error { return socket.WaitRead(ctx, uintptr(r)) })
		waiting(ctx, "read", 2)
		if _, err := syscall.Write(w2, []byte("x")); err != nil {
			return err
		}
		err := later.Wait(ctx)
		old.Cancel(nil)
		return err
	})
}

// TestWaitReadBesideDuplicate: a duplicate of the program's gets the number that an earlier wait
// for the same file used.
func TestWaitReadBesideDuplicate(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(r)
		defer syscall.Close(w)
		for range 2 {
			err := both(ctx, func(ctx context.Context) error { return socket.WaitRead(ctx, uintptr(r)) },
				func(ctx context.Context) error {
					waiting(ctx, "read", 1)
					_, err := syscall.Write(w, []byte("x"))
					return err
				})
			if err != nil {
				return err
			}
			if _, err := syscall.Read(r, make([]byte, 1)); err != nil {
				return err
			}
			duplicate, err := syscall.Dup(r)
			if err != nil {
				return err
			}
			defer syscall.Close(duplicate)
		}
		return nil
	})
}

// watched returns how many registrations the epolls of the process have.
func watched(t *testing.T) (n int) {
	names, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, _ := os.ReadFile(name) // it may be closed by now
		n += strings.Count(string(text), "tfd:")
	}
	return n
}

// TestWaitsLeaveNoRegistration: the duplicate of a wait that has ended is closed, but its open file
// is not, so epoll must be told.
func TestWaitsLeaveNoRegistration(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(r)
		defer syscall.Close(w)
		before := watched(t)
		for range 20 {
			task := rondo.Go(ctx, func(ctx context.Context) error { return socket.WaitRead(ctx, uintptr(r)) })
			waiting(ctx, "read", 1)
			task.Cancel(nil)
			_ = task.Wait(ctx)
			taken, err := syscall.Dup(r) // the next wait gets another number
			if err != nil {
				return err
			}
			defer syscall.Close(taken)
		}
		if now := watched(t); now > before+10 {
			t.Errorf("%d registrations before, %d after", before, now)
		}
		return nil
	})
}

// ignore is a sink that does nothing.
type ignore struct{}

func (*ignore) Ready(driver.Events) {}

// TestCrowdedListener: a loop serves a listener, by tasks and by a Protocol,
// that 100 others watch already.
func TestCrowdedListener(t *testing.T) {
	for name, serve := range map[string]func(ctx context.Context, l net.Listener) error{
		"Server": func(ctx context.Context, l net.Listener) error {
			return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
				_, err := io.Copy(c, c)
				return err
			})
		},
		"Protocol": func(ctx context.Context, l net.Listener) error {
			p := socket.Protocol{Data: func(t *socket.Transport, b []byte) { _, _ = t.Write(b) }}
			return p.Serve(ctx, l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			file, err := l.(*net.TCPListener).File()
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			for range 100 {
				d, err := poll.Open()
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				if err := d.Poller().Arm(file.Fd(), driver.Readable, new(ignore)); err != nil {
					t.Fatal(err)
				}
			}
			run(t, func(ctx context.Context) error {
				task := rondo.Go(ctx, func(ctx context.Context) error { return serve(ctx, l) })
				for range 20 {
					c, err := socket.Dial(ctx, "tcp", l.Addr().String())
					if err != nil {
						return err
					}
					if _, err := c.Write([]byte("x")); err != nil {
						return err
					}
					if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
						t.Errorf("no echo: %v", err)
					}
					c.Close()
				}
				task.Cancel(nil)
				return nil
			})
		})
	}
}

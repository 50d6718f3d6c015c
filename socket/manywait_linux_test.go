//go:build linux && !rondo_portable

package socket_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// The waits for one descriptor of the program share a registration: Linux
// allows about 100 for an open file.

// TestManyWait: 300 tasks wait for one descriptor, beside 150 watches of it.
// Most tasks are cancelled, the first one too; the others are still woken.
func TestManyWait(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := plainPipe(t)
		defer syscall.Close(r)
		defer syscall.Close(w)
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
		if err := turns(ctx, 3); err != nil {
			return err
		}
		for i, c := range called {
			if !c {
				t.Fatalf("watch %d was not called", i)
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
		if err := syscall.Dup2(r2, r); err != nil {
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

package socket_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestReaderCancelledInLine: readers that wait behind a cancelled one lose
// nothing.
func TestReaderCancelledInLine(t *testing.T) {
	for victim := range 3 {
		run(t, func(ctx context.Context) error {
			a, b := pair(t, ctx)
			var got string
			var tasks [3]*rondo.Task
			for i := range tasks {
				tasks[i] = rondo.Go(ctx, func(ctx context.Context) error {
					p := make([]byte, 1)
					_, err := a.Read(p)
					if err == nil {
						got += string(p)
					}
					return err
				})
			}
			waiting(ctx, "turn", 2)
			tasks[victim].Cancel(nil)
			if err := tasks[victim].Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled reader returned %v", err)
			}
			if _, err := b.Write([]byte("xy")); err != nil {
				return err
			}
			for i, task := range tasks {
				if i != victim {
					if err := task.Wait(ctx); err != nil {
						t.Error(err)
					}
				}
			}
			if got != "xy" {
				t.Errorf("victim %d: the others read %q", victim, got)
			}
			return nil
		})
	}
}

// TestCancelledFromTheStart: in a cancelled scope a Read fails although there
// is data; in a Shield it does not.
func TestCancelledFromTheStart(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		if _, err := b.Write([]byte("x")); err != nil {
			return err
		}
		gone := errors.New("gone")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(gone)
			var op *net.OpError
			if _, err := a.Read(make([]byte, 1)); !errors.Is(err, gone) || !errors.As(err, &op) || op.Op != "read" {
				t.Errorf("Read: %v", err)
			}
			if _, err := a.Write(make([]byte, 1)); !errors.Is(err, gone) {
				t.Errorf("Write: %v", err)
			}
			return rondo.Shield(g, func(context.Context) error {
				_, err := a.Read(make([]byte, 1))
				return err
			})
		})
		if err != gone {
			t.Errorf("Group returned %v", err)
		}
		return nil
	})
}

// TestTie: if data ended the wait of a Read before the cancellation, Read
// returns the data, and the next one fails.
func TestTie(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var readers, writers [2]*socket.Conn
		for i := range readers {
			readers[i], writers[i] = pair(t, ctx)
		}
		for ties := 0; ties < 20; {
			var tasks [2]*rondo.Task
			var read [2]int
			for i, c := range readers {
				tasks[i] = rondo.Go(ctx, func(ctx context.Context) error {
					for {
						n, err := c.Read(make([]byte, 1))
						if read[i] += n; err != nil {
							return err
						}
						if other := tasks[1-i]; other.Info().State == "ready" { // its data has come too
							ties++
							other.Cancel(nil)
						}
					}
				})
			}
			waiting(ctx, "read", 2)
			for _, c := range writers {
				if _, err := c.Write([]byte("x")); err != nil {
					return err
				}
			}
			for i, task := range tasks {
				for read[i] == 0 && !task.Done() {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
			}
			for i, task := range tasks {
				task.Cancel(nil)
				if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("the reader returned %v", err)
				}
				if read[i] != 1 {
					t.Fatalf("read %d bytes", read[i])
				}
			}
		}
		return nil
	})
}

// TestCancelDisturbsNobody: a task that is cancelled in Read, Write or Accept
// does not end those of other goroutines, nor change the deadline.
func TestCancelDisturbsNobody(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		l := listen(t, ctx)
		cancelled := func(op func() error) {
			task := rondo.Go(ctx, func(context.Context) error { return op() })
			// By now the operation is waiting.
			if rondo.Yield(ctx) != nil {
				return
			}
			task.Cancel(nil)
			if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled task returned %v", err)
			}
		}
		return both(ctx, func(ctx context.Context) error {
			return outside(ctx, func() error { _, err := a.Read(make([]byte, 1)); return err })
		}, func(ctx context.Context) error {
			return outside(ctx, func() error {
				c, err := l.Accept()
				if err != nil {
					return err
				}
				return c.Close()
			})
		}, func(ctx context.Context) error {
			for range 20 {
				cancelled(func() error { _, err := a.Read(make([]byte, 1)); return err })
				cancelled(func() error { _, err := l.Accept(); return err })
			}
			if _, err := b.Write([]byte("x")); err != nil {
				return err
			}
			c, err := socket.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				return err
			}
			return c.Close()
		})
	})
}

// TestDeadlineThatHasPassed: an operation that a deadline has ended before it began counts, so
// Deadline returns its error although the body does not.
func TestDeadlineThatHasPassed(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		c, _ := pair(t, ctx)
		for name, use := range map[string]func() error{
			"Read":   func() error { _, err := c.Read(make([]byte, 1)); return err },
			"Write":  func() error { _, err := c.Write([]byte("x")); return err },
			"Accept": func() error { _, err := l.Accept(); return err },
		} {
			err := rondo.Deadline(ctx, rondo.Now(ctx).Add(-time.Second), func(context.Context) error {
				if err := use(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s returned %v", name, err)
				}
				return nil
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a %s that has failed Deadline returned %v", name, err)
			}
		}
		return nil
	})
}

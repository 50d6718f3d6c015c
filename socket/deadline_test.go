package socket_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// timedOut checks that err is the error of a deadline.
func timedOut(t *testing.T, what string, err error) {
	t.Helper()
	var ne net.Error
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
		t.Errorf("%s: %v, want a deadline exceeded", what, err)
	}
}

// TestDeadlineMoved: a deadline set while a Read waits applies to it, a later
// and an earlier one.
func TestDeadlineMoved(t *testing.T) {
	hour := func() time.Time { return time.Now().Add(time.Hour) }
	soon := func() time.Time { return time.Now().Add(time.Millisecond) }
	past := func() time.Time { return time.Unix(1, 0) }
	for _, set := range [][]func() time.Time{{hour, soon}, {soon}, {past}, {hour, hour, past}, {hour, soon, hour, soon}} {
		for _, where := range []string{"task", "foreign"} {
			run(t, func(ctx context.Context) error {
				a, _ := pair(t, ctx)
				return both(ctx, func(ctx context.Context) error {
					_, err := a.Read(make([]byte, 1))
					timedOut(t, "Read", err)
					return nil
				}, func(ctx context.Context) error {
					waiting(ctx, "read", 1)
					for _, at := range set {
						if where == "task" {
							if err := a.SetDeadline(at()); err != nil {
								return err
							}
							continue
						}
						if _, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, a.SetDeadline(at()) }); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

// TestDeadlineForAll: a deadline, and then Close, end the waits of all tasks and goroutines that
// read or write.
func TestDeadlineForAll(t *testing.T) {
	for what, end := range map[string]func(c *socket.Conn) error{
		"deadline": func(c *socket.Conn) error { return c.SetDeadline(time.Unix(1, 0)) },
		"close":    func(c *socket.Conn) error { return c.Close() },
	} {
		want := map[string]error{"deadline": os.ErrDeadlineExceeded, "close": net.ErrClosed}[what]
		for _, where := range []string{"task", "foreign"} {
			run(t, func(ctx context.Context) error {
				a, _ := pair(t, ctx)
				ended := 0
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for i := range 8 {
						g.Go(func(ctx context.Context) error {
							op := func() error { _, err := a.Read(make([]byte, 1)); return err }
							if i%2 == 1 {
								op = func() error { _, err := a.Write(make([]byte, 64<<20)); return err }
							}
							if i >= 4 {
								on := op
								op = func() error { return outside(ctx, on) }
							}
							err := op()
							if !errors.Is(err, want) {
								t.Errorf("%s from a %s: operation %d returned %v", what, where, i, err)
							}
							ended++
							return nil
						})
					}
					waiting(ctx, "read", 1)
					waiting(ctx, "write", 1)
					if ended > 0 {
						t.Errorf("%d operations ended by themselves", ended)
					}
					if where == "task" {
						return end(a)
					}
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, end(a) })
					return err
				})
			})
		}
	}
}

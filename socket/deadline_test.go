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

func TestDeadlineInTask(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		buf := make([]byte, 1)
		_, err := b.Write([]byte("xy"))
		if err != nil {
			return err
		}
		// A deadline that has passed fails although there is data; the next
		// deadline repairs it.
		if err := a.SetReadDeadline(time.Now().Add(-1)); err != nil {
			return err
		}
		_, err = a.Read(buf)
		timedOut(t, "Read past the deadline", err)
		if err := a.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
			return err
		}
		for range 2 {
			if _, err := a.Read(buf); err != nil {
				t.Error(err)
			}
		}
		// A deadline that comes while Read waits.
		if err := a.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			return err
		}
		_, err = a.Read(buf)
		timedOut(t, "Read", err)
		// And for writing, to a peer that does not read.
		if err := a.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			return err
		}
		n, err := a.Write(make([]byte, 64<<20))
		timedOut(t, "Write", err)
		if n < 0 || n >= 64<<20 {
			t.Errorf("Write wrote %d bytes", n)
		}
		return nil
	})
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
				a, b := pair(t, ctx)
				defer a.Close()
				defer b.Close()
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

// TestDeadlineForAll: a deadline, and then Close, end the waits of all tasks
// that read or write.
func TestDeadlineForAll(t *testing.T) {
	for what, end := range map[string]func(c *socket.Conn) error{
		"deadline": func(c *socket.Conn) error { return c.SetDeadline(time.Unix(1, 0)) },
		"close":    func(c *socket.Conn) error { return c.Close() },
	} {
		want := map[string]error{"deadline": os.ErrDeadlineExceeded, "close": net.ErrClosed}[what]
		for _, where := range []string{"task", "foreign"} {
			run(t, func(ctx context.Context) error {
				a, b := pair(t, ctx)
				defer b.Close()
				defer a.Close()
				ended := 0
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for i := range 6 {
						g.Go(func(ctx context.Context) error {
							var err error
							if i%2 == 0 {
								_, err = a.Read(make([]byte, 1))
							} else {
								_, err = a.Write(make([]byte, 64<<20))
							}
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

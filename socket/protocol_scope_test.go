package socket_test

// The scope of a Protocol's connection, and of nothing else. Package containment has the ways
// to fail; here is when the scope begins and ends.

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestProtocolScope: the tasks of a connection end with it: after Lost, and before its
// descriptor is closed and Serve returns.
func TestProtocolScope(t *testing.T) {
	var order []string
	var of *socket.Transport
	var lost error
	note := func(what string) { order = append(order, what) }
	p := &socket.Protocol{
		Connected: func(tr *socket.Transport) {
			of = tr
			ctx := tr.Context()
			if tr.Context() != ctx {
				t.Error("the next call returns another ctx")
			}
			rondo.Go(ctx, func(ctx context.Context) error {
				err := rondo.WaitCanceled(ctx)
				note("cancelled")
				return rondo.Shield(ctx, func(ctx context.Context) error {
					for range 10 {
						_ = rondo.Yield(ctx)
					}
					if _, err := tr.SyscallConn(); err != nil {
						t.Error(err)
					}
					note("cleaned up")
					return err
				})
			})
			rondo.Go(ctx, func(context.Context) error {
				next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
					yield(1)
					note("sequence")
				})
				next()
				return nil
			})
		},
		Lost:    func(tr *socket.Transport, err error) { lost = err; note("Lost") },
		OnError: func(err error) { t.Errorf("OnError: %v", err) },
	}
	run(t, func(ctx context.Context) error {
		err := protocol(t, ctx, p, func(ctx context.Context, addr string) error {
			c, err := socket.Dial(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			if err := until(ctx, func() bool { return of != nil }); err != nil {
				return err
			}
			if err := c.Close(); err != nil {
				return err
			}
			return until(ctx, func() bool { return p.Stats().Open == 0 })
		})
		if want := []string{"Lost", "cancelled", "sequence", "cleaned up"}; !slices.Equal(order, want) {
			t.Errorf("%q, want %q", order, want)
		}
		// What is started too late is cancelled, and nobody's failure.
		if cause := context.Cause(of.Context()); lost != nil && cause != lost {
			t.Errorf("Lost got %v, and the cause is %v", lost, cause)
		}
		late := rondo.Go(of.Context(), rondo.WaitCanceled)
		if of.Context().Err() == nil || !errors.Is(late.Wait(ctx), context.Canceled) {
			t.Error("the ctx of a connection that is over is not cancelled")
		}
		return err
	})
}

// TestProtocolScopeFails: a task that fails ends its connection with that error, and no other;
// what the network does is told to Lost alone, also if a task returns it.
func TestProtocolScopeFails(t *testing.T) {
	oops := errors.New("oops")
	var lost, reported []error
	var failed *socket.Transport
	p := &socket.Protocol{
		Data: func(tr *socket.Transport, b []byte) {
			switch b[0] {
			case 'f':
				failed = tr
				rondo.Go(tr.Context(), func(context.Context) error { return oops })
			case 'r':
				rondo.Go(tr.Context(), func(ctx context.Context) error {
					err := rondo.WaitCanceled(ctx)
					_, err2 := tr.Write([]byte("x"))
					return errors.Join(err, err2)
				})
				tr.Write([]byte("r"))
			default:
				tr.Write(b)
			}
		},
		Lost:    func(_ *socket.Transport, err error) { lost = append(lost, err) },
		OnError: func(err error) { reported = append(reported, err) },
	}
	run(t, func(ctx context.Context) error {
		return protocol(t, ctx, p, func(ctx context.Context, addr string) error {
			dial := func() net.Conn {
				c, err := socket.Dial(ctx, "tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			c, other := dial(), dial()
			defer other.Close()
			io.WriteString(c, "f")
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the connection goes on: %v", err)
			}
			c.Close()
			if !slices.Equal(lost, []error{oops}) || !slices.Equal(reported, lost) {
				t.Errorf("Lost got %v, OnError %v", lost, reported)
			}
			lost, reported = nil, nil
			if err := until(ctx, func() bool { return p.Stats().Open == 1 }); err != nil {
				return err
			}
			if cause := context.Cause(failed.Context()); cause != oops {
				t.Errorf("the cause of what is started too late is %v, want %v", cause, oops)
			}

			c = dial()
			io.WriteString(c, "r")
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				return err
			}
			c.(*socket.Conn).SetLinger(0)
			c.Close() // which resets the connection
			if err := until(ctx, func() bool { return p.Stats().Open == 1 }); err != nil {
				return err
			}
			if len(lost) != 1 || !errors.Is(lost[0], syscall.ECONNRESET) || len(reported) > 0 {
				t.Errorf("after a reset Lost got %v, OnError %v", lost, reported)
			}

			io.WriteString(other, "x")
			if _, err := io.ReadFull(other, make([]byte, 1)); err != nil {
				t.Errorf("another connection: %v", err)
			}
			return nil
		})
	})
}

// TestProtocolScopeOfAttach: what Attach's ctx ends, ends the tasks of its connections too, and
// its scope waits for them.
func TestProtocolScopeOfAttach(t *testing.T) {
	run(t, func(ctx context.Context) error {
		stop, cleaned := errors.New("stop"), false
		var lost error
		p := &socket.Protocol{Lost: func(_ *socket.Transport, err error) { lost = err }}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			a, _ := pair(t, ctx)
			tr, err := p.Attach(g, a)
			if err != nil {
				return err
			}
			rondo.Go(tr.Context(), func(ctx context.Context) error {
				err := rondo.WaitCanceled(ctx)
				_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
				cleaned = true
				return err
			})
			if err := rondo.Yield(g); err != nil {
				return err
			}
			g.Cancel(stop)
			return nil
		})
		if err != stop || lost != stop || !cleaned {
			t.Errorf("Group returned %v, Lost got %v, the task has cleaned up: %v", err, lost, cleaned)
		}
		return nil
	})
}

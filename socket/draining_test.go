package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestDraining: Close ends a listener at once while no task accepts. While one does, the socket's
// file goes at once, and that task closes the listener when all that had come were accepted.
func TestDraining(t *testing.T) {
	for name, accept := range map[string]func(d *draining) error{
		"Accept": func(d *draining) error {
			c, err := d.Accept()
			if err == nil {
				err = c.Close()
			}
			return err
		},
		"acceptAny": func(d *draining) error {
			a, err := d.acceptAny()
			if err == nil {
				a.close()
			}
			return err
		},
	} {
		path := filepath.Join(t.TempDir(), "s")
		dial := func() {
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			t.Cleanup(func() { c.Close() })
		}
		err := rondo.Run(t.Context(), func(ctx context.Context) error {
			for _, accepting := range []bool{false, true} {
				l, err := Listen(ctx, "unix", path)
				if err != nil {
					return err
				}
				drained := 0
				d := &draining{Listener: l, ended: func() { drained++ }}
				dial()
				if err := accept(d); err != nil {
					return err
				}
				_ = d.SetDeadline(time.Now().Add(-time.Hour))
				if err := accept(d); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s with a deadline that has passed: %v", name, err)
				}
				_ = d.SetDeadline(time.Time{})
				var waits *rondo.Task
				if accepting {
					waits = rondo.Go(ctx, func(context.Context) error { return accept(d) })
					if err := rondo.Sleep(ctx, 0); err != nil {
						return err
					}
				}
				if err := d.Close(); err != nil {
					t.Errorf("%s: Close: %v", name, err)
				}
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s, a task accepts: %v: the socket's file: %v", name, accepting, err)
				}
				if accepting {
					if err := waits.Wait(ctx); !errors.Is(err, net.ErrClosed) || drained != 1 {
						t.Errorf("%s: the task that accepts: %v; drained %d times", name, err, drained)
					}
				}
				if err := l.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s, a task accepts: %v: the listener is open: %v", name, accepting, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestArrivedSimulated: also a simulated listener says whether a connection waits to be accepted.
func TestArrivedSimulated(t *testing.T) {
	sim.Config{}.Cluster(t, func(ctx context.Context, _ *sim.World) {
		l, err := Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			t.Error(err)
			return
		}
		defer l.Close()
		if l.arrived() {
			t.Error("a connection waits before there is one")
		}
		c, err := Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if err := rondo.Sleep(ctx, time.Second); err != nil || !l.arrived() {
			t.Errorf("a connection waits: %t, %v", l.arrived(), err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer accepted.Close()
		if l.arrived() {
			t.Error("a connection waits after it was accepted")
		}
	})
}

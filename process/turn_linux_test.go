//go:build !rondo_portable

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
)

// TestEndAndCancelInOneTurn: a child's own status is returned also if its end and a
// cancellation come in one turn of the loop, in either order.
func TestEndAndCancelInOneTurn(t *testing.T) {
	type order struct {
		endFirst bool
		own      bool // as Run waits
		around   bool // only the scope of the task that waits is cancelled
	}
	for _, o := range []order{
		{true, false, false}, {true, true, false}, {true, true, true},
		{false, false, false}, {false, true, false}, {false, true, true},
	} {
		var waited error
		err := rondo.Run(context.Background(), func(ctx context.Context) error {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				of := context.Context(g)
				if o.around {
					of = ctx
				}
				c := Command(of, "/bin/sh", "-c", "read line; exit 7")
				c.WaitDelay = -1
				in, err := c.StdinPipe()
				if err := errors.Join(err, c.Start()); err != nil {
					t.Error(err)
					return err
				}
				g.Go(func(context.Context) error { waited = c.wait(o.own); return nil })
				for !c.child.waited || c.child.exit.list.Len() == 0 {
					if err := rondo.Yield(g); err != nil {
						return err
					}
				}
				// From here on the loop does nothing else until both have come.
				if err := errors.Join(in.Close(), ended(c)); err != nil {
					t.Error(err)
				}
				if !o.endFirst {
					g.Cancel(nil)
				}
				c.child.exit.Ready(driver.Readable)
				g.Cancel(nil)
				return nil
			})
			return nil
		})
		if exit, ok := errors.AsType[*exec.ExitError](waited); err != nil || !ok || exit.ExitCode() != 7 {
			t.Errorf("%+v: the wait returned %v, and Run %v", o, waited, err)
		}
	}
}

// ended waits until the child has ended, and leaves it to be reaped.
func ended(c *Cmd) (err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Waitid(unix.P_PID, c.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	return err
}

// TestEndedInCancel: a child that has ended by itself when WaitDelay is over is not killed, and
// its status says nothing of the cancellation, while Cancel still waits.
func TestEndedInCancel(t *testing.T) {
	var waited error
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c := Command(g, "/bin/sh", "-c", "read line; exit 7")
			c.WaitDelay = time.Nanosecond
			in, err := c.StdinPipe()
			if err != nil {
				return err
			}
			c.Cancel = func() error {
				if err := errors.Join(in.Close(), ended(c)); err != nil {
					t.Error(err)
				}
				c.child.exit.Ready(driver.Readable)
				// WaitDelay is over before the end of the sleep.
				_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
				return os.ErrProcessDone
			}
			if err := c.Start(); err != nil {
				return err
			}
			g.Cancel(errors.New("why"))
			waited = c.Wait()
			return nil
		})
	})
	if exit, ok := waited.(*exec.ExitError); !ok || exit.ExitCode() != 7 {
		t.Errorf("the wait returned %v, and Run %v", waited, err)
	}
}

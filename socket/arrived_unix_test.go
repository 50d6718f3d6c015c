//go:build unix

package socket

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestDrainingLate: what has come before the end is accepted, also if the loop stood still until
// the time for that was over.
func TestDrainingLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l, err := Listen(ctx, "unix", path)
		if err != nil {
			return err
		}
		d := &draining{Listener: l, ended: func() {}}
		accepted := 0
		accepts := rondo.Go(ctx, func(context.Context) error {
			for {
				c, err := d.Accept()
				if err != nil {
					return err
				}
				accepted++
				_ = c.Close()
			}
		})
		if err := rondo.Sleep(ctx, 0); err != nil {
			return err
		}
		for range 3 {
			c, err := net.Dial("unix", path)
			if err != nil {
				return err
			}
			defer c.Close()
		}
		if err := errors.Join(d.Close(), d.SetDeadline(time.Unix(1, 0))); err != nil {
			return err
		}
		if err := accepts.Wait(ctx); !errors.Is(err, net.ErrClosed) || accepted != 3 {
			t.Errorf("%d of 3 were accepted: %v", accepted, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

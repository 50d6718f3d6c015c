//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package fd_test

import (
	"context"
	"os"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestReadyShares: a task that need not wait gives the others their turns all the same.
func TestReadyShares(t *testing.T) {
	runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
		other := rondo.Go(ctx, func(context.Context) error { return nil })
		for range 1000 {
			if err := fd.Ready(ctx, f.Loop(), driver.Writable, peer.Fd()); err != nil {
				return err
			}
		}
		if !other.Done() {
			t.Error("the other task has had no turn")
		}
		return nil
	})
}

// TestWatchOnceATurn: the function is called once a turn of the loop, also if more data comes
// before it has read the first. A task that yields may wait for two turns, so the loop counts.
func TestWatchOnceATurn(t *testing.T) {
	runPair(t, func(ctx context.Context, f *fd.FD, peer *os.File) error {
		var calls, last uint64
		stop, err := fd.Watch(ctx, kernel.Of(ctx), driver.Readable, peer.Fd(), func() {
			turn := rondo.LoopOf(ctx).Stats().Turns
			if calls++; turn == last {
				t.Errorf("called again in turn %d", turn)
			}
			last = turn
		})
		if err != nil {
			return err
		}
		defer stop()
		for range 3 {
			if _, err := f.Write([]byte("x")); err != nil {
				return err
			}
			for until := calls + 10; calls < until; {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

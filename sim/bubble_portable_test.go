//go:build rondo_portable

package sim_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo"
)

// TestC243BubblePortable: a real loop on the portable driver is durably blocked
// when it is idle. The clock of the bubble jumps, and the loop uses that clock.
func TestC243BubblePortable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := rondo.Run(context.Background(), func(ctx context.Context) error {
			at := rondo.Now(ctx)
			if err := rondo.Sleep(ctx, time.Hour); err != nil {
				return err
			}
			if d := rondo.Now(ctx).Sub(at); d != time.Hour {
				t.Error("the loop's clock went on by", d)
			}
			_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
				<-time.After(time.Hour)
				return 0, nil
			})
			return err
		})
		if d := time.Since(began); err != nil || d != 2*time.Hour {
			t.Error(err, "the bubble's clock went on by", d)
		}
	})
}

// TestC243BubbleWait: synctest.Wait returns when a real loop on the portable
// driver is idle.
func TestC243BubbleWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps atomic.Int32 // the race detector does not see that Wait orders what coroutines did
		ended := make(chan error)
		go func() {
			ended <- rondo.Run(context.Background(), func(ctx context.Context) error {
				steps.Add(1)
				err := rondo.Sleep(ctx, time.Hour)
				steps.Add(1)
				return err
			})
		}()
		synctest.Wait()
		if steps.Load() != 1 {
			t.Error("the loop has taken", steps.Load(), "steps")
		}
		if err := <-ended; err != nil || steps.Load() != 2 {
			t.Error(err, steps.Load())
		}
	})
}

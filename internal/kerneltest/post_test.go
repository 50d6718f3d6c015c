package kerneltest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestPostLosesNothing: every callback that Post has accepted runs, in the order
// of its goroutine, also when the loop ends meanwhile. The others do not run.
func TestPostLosesNothing(t *testing.T) {
	for range 20 {
		const senders = 8
		var accepted, ran [senders]int
		var wg sync.WaitGroup
		err := rondo.Run(t.Context(), func(ctx context.Context) error {
			l := rondo.LoopOf(ctx)
			for s := range senders {
				wg.Go(func() {
					for i := 0; ; i++ {
						err := l.Post(func() {
							if ran[s] != i {
								t.Errorf("sender %d: callback %d ran, want %d", s, i, ran[s])
							}
							ran[s]++
						})
						if err != nil {
							if !errors.Is(err, rondo.ErrLoopClosed) {
								t.Error(err)
							}
							return
						}
						accepted[s]++
					}
				})
			}
			for l.Stats().Posts < 1000 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		wg.Wait()
		if err != nil || accepted != ran {
			t.Errorf("Run returned %v; accepted %v, ran %v", err, accepted, ran)
		}
	}
}

func TestSubmit(t *testing.T) {
	var l *rondo.Loop
	started, stop := make(chan bool), make(chan bool)
	ended := make(chan error)
	go func() {
		ended <- rondo.Run(context.Background(), func(ctx context.Context) error {
			l = rondo.LoopOf(ctx)
			close(started)
			_, _, err := receive(ctx, stop)
			return err
		})
	}()
	<-started
	ctx := context.Background()
	f := rondo.Submit(l, func(ctx context.Context) (string, error) {
		return rondo.Current(ctx).Name(), rondo.Sleep(ctx, time.Microsecond)
	})
	if v, err := f.Wait(ctx); v != f.Task().Name() || err != nil {
		t.Errorf("a submitted function returned %q, %v", v, err)
	}
	task, _ := rondo.Submit(l, func(ctx context.Context) (*rondo.Task, error) { return rondo.Go(ctx, forever), nil }).Wait(ctx)
	if _, err := rondo.Submit(l, func(context.Context) (int, error) { return 0, errBroken }).Wait(ctx); err != errBroken {
		t.Errorf("a submitted function that fails returned %v", err)
	}
	over, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	waiting := rondo.Submit(l, func(ctx context.Context) (int, error) { return 0, forever(ctx) })
	if _, err := waiting.Wait(over); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Future.Wait with a deadline returned %v", err)
	}
	if err := task.Wait(over); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Task.Wait with a deadline returned %v", err)
	}
	close(stop)
	// The end of the loop cancels them, and that is their result.
	if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end Task.Wait returned %v", err)
	}
	if _, err := waiting.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end Future.Wait returned %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := rondo.Submit(l, func(context.Context) (int, error) { panic("ran") }).Wait(ctx); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Submit after the end returned %v", err)
	}
	if err := l.Post(func() { panic("ran") }); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("Post after the end returned %v", err)
	}
}

// receive waits on another goroutine for a value of a channel.
func receive[T any](ctx context.Context, ch <-chan T) (v T, ok bool, err error) {
	_, err = rondo.Offload(ctx, func(context.Context) (int, error) {
		v, ok = <-ch
		return 0, nil
	})
	return v, ok, err
}

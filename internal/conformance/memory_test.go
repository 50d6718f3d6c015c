package conformance

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestC244CancelledLeavesNothing: what was set or begun and cancelled again, a
// million times or in a crowd, leaves the memory where it was.
func TestC244CancelledLeavesNothing(t *testing.T) {
	const slack = 1 << 20
	many := 1_000_000
	if testing.Short() {
		many /= 20
	}
	run(t, func(ctx context.Context) error {
		l := rondo.LoopOf(ctx)
		var m rondo.Mutex
		_ = m.TryLock()
		for what, fn := range map[string]func() error{
			"CallLater": func() error {
				for range many {
					l.CallLater(time.Hour, func() {}).Cancel()
				}
				return nil
			},
			"Deadlines": func() error {
				for range many / 10 {
					if err := rondo.Timeout(ctx, time.Hour, func(context.Context) error { return nil }); err != nil {
						return err
					}
				}
				return nil
			},
			"Sleep": func() error {
				for range many / 100 {
					sleeper := rondo.Go(ctx, func(ctx context.Context) error { return ignore(rondo.Sleep(ctx, time.Hour)) })
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
					sleeper.Cancel(errStop)
					if err := sleeper.Wait(ctx); err != nil {
						return err
					}
				}
				return nil
			},
			"Lock": func() error {
				for range many / 100 {
					waiting := rondo.Go(ctx, func(ctx context.Context) error { return ignore(m.Lock(ctx)) })
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
					waiting.Cancel(errStop)
					if err := waiting.Wait(ctx); err != nil {
						return err
					}
				}
				return nil
			},
		} {
			if err := fn(); err != nil { // the loop's own lists grow to their size
				return err
			}
			before := heap()
			if err := fn(); err != nil {
				return err
			}
			if grown := heap() - before; grown > slack {
				t.Errorf("%s: the heap has grown by %d bytes", what, grown)
			}
			if n := l.Stats().Timers; n != 0 {
				t.Errorf("%s: %d timers are left", what, n)
			}
		}
		return nil
	})
}

// heap gives the bytes that are reachable.
func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

func ignore(err error) error {
	if err == errStop {
		return nil
	}
	return err
}

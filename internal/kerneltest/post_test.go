package kerneltest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

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

// TestPostAfterCallbacks: to cancel callbacks that have run prevents nothing that was posted since.
func TestPostAfterCallbacks(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, called, ran := rondo.LoopOf(ctx), 0, false
		handles := []*rondo.Handle{l.CallSoon(func() { called++ }), l.CallSoon(func() { called++ })}
		for called < 2 {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		must(l.Post(func() {
			for i, h := range handles {
				if h.Cancel() {
					t.Errorf("callback %d has run and was cancelled", i)
				}
			}
		}))
		must(l.Post(func() { ran = true }))
		for l.Stats().Posts < 2 {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if !ran {
			t.Error("what was posted has not run")
		}
		return nil
	})
}

// TestPostAllocatesNothing: a function that is posted costs no allocation if the loop keeps up.
func TestPostAllocatesNothing(t *testing.T) {
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			l := rondo.LoopOf(ctx)
			answer := make(chan int)
			sum := 0
			count, reply := func() { sum++ }, func() { answer <- sum }
			posts := func() {
				for range 100 {
					must(l.Post(count))
				}
				must(l.Post(reply))
				<-answer
			}
			free(t, "100 posts", 0, posts)
			if before := sum; func() int { posts(); return sum }() != before+100 {
				t.Errorf("%d ran, want %d", sum, before+100)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
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

package kerneltest_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// TestReceiveFromReadyChannel: Receive of a value that is there starts no
// goroutine and allocates nothing.
func TestReceiveFromReadyChannel(t *testing.T) {
	run(t, func(ctx context.Context) error {
		const n = 10000
		ch := make(chan int, n+1) // AllocsPerRun begins with a run that it does not count
		for i := range n + 1 {
			ch <- i
		}
		before := runtime.NumGoroutine()
		if a := testing.AllocsPerRun(n, func() { _, _, _ = rondo.Receive(ctx, ch) }); a > 0 {
			t.Errorf("a Receive made %v allocations", a)
		}
		if now := runtime.NumGoroutine(); now > before {
			t.Errorf("there are %d more goroutines", now-before)
		}
		return nil
	})
}

// TestReceiveCancelled: a Receive that is cancelled ends its goroutine. No value
// is lost when a value and a cancellation meet.
func TestReceiveCancelled(t *testing.T) {
	run(t, func(ctx context.Context) error {
		ch := make(chan int)
		before := runtime.NumGoroutine()
		err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
			v, ok, err := rondo.Receive(ctx, ch)
			if v != 0 || ok {
				t.Errorf("a Receive that was cancelled returned %v, %v", v, ok)
			}
			if v, ok, again := rondo.Receive(ctx, ch); v != 0 || ok || again == nil {
				t.Errorf("a Receive with a ctx that is cancelled returned %v, %v, %v", v, ok, again)
			}
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if left := leak.Settle(before); left > before {
			t.Errorf("%d goroutines are left", left-before)
		}
		// Values meet cancellations: each value that was sent is received.
		sent, got := make(chan int, 1), 0
		go func() {
			n := 0
			for ; n < 1000; n++ {
				ch <- n
				if n%3 == 0 {
					runtime.Gosched()
				}
			}
			close(ch)
			sent <- n
		}()
		cancelled := 0
		for open := true; open; {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					v, ok, err := rondo.Receive(ctx, ch)
					switch {
					case err != nil:
						cancelled++
					case !ok:
						open = false
					default:
						if v != got {
							t.Errorf("value %d is %d", got, v)
						}
						got++
					}
					return err
				})
				_ = rondo.Yield(g)
				g.Cancel(nil)
				return nil
			})
		}
		if n := <-sent; n != got {
			t.Errorf("%d values were sent and %d received, with %d cancellations", n, got, cancelled)
		}
		return nil
	})
}

// TestReceiveTie: in every order, a value that was sent before the cancellation
// is received, and one that was sent after it stays in the channel.
func TestReceiveTie(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		ch := make(chan int, 1)
		got, first := 0, ""
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			r := g.Go(func(ctx context.Context) error {
				_, ok, err := rondo.Receive(ctx, ch)
				if ok {
					got++
				}
				return err
			})
			_ = rondo.Yield(g)
			say := func(s string) {
				if first == "" {
					first = s
				}
			}
			g.Go(func(context.Context) error { say("cancelled"); r.Cancel(nil); return nil })
			g.Go(func(context.Context) error { say("sent"); ch <- 1; return nil })
			return nil
		})
		if err != nil || got+len(ch) != 1 || first == "sent" && len(ch) > 0 {
			t.Errorf("%s first: Group returned %v; %d values were received, %d are left", first, err, got, len(ch))
		}
	})
}

// TestCancelledAfterReceive: a value that was received satisfies no wait but that of Receive.
func TestCancelledAfterReceive(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ch := make(chan int)
		task := rondo.Go(ctx, func(ctx context.Context) error {
			if _, _, err := rondo.Receive(ctx, ch); err != nil {
				return err
			}
			return forever(ctx)
		})
		until(ctx, func() bool { return task.Info().State == "waiting" })
		ch <- 1
		for task.Info().Waiting != "event" {
			_ = rondo.Sleep(ctx, 1)
		}
		task.Cancel(errStop)
		if err := task.Wait(ctx); err != errStop {
			t.Errorf("a wait that was cancelled after a Receive returned %v", err)
		}
	})
}

// TestReceiveAtTheDeadline: in every order, a deadline has ended something only if
// Receive has returned no value.
func TestReceiveAtTheDeadline(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		ch := make(chan int, 1)
		got := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			rondo.Go(ctx, func(context.Context) error { g.SetDeadline(rondo.Now(g)); return nil })
			rondo.Go(ctx, func(context.Context) error { ch <- 1; return nil })
			_, ok, err := rondo.Receive(g, ch)
			got = ok
			if ok == (err != nil) {
				t.Errorf("Receive returned %v, %v", ok, err)
			}
			return nil
		})
		if got == (err != nil) {
			t.Errorf("Receive has got a value: %v; Group returned %v", got, err)
		}
	})
}

// TestReceiveIsNoDeadlock: a loop whose tasks wait for channels is not in
// deadlock, except if the channel is nil. The end of the loop cancels the waits.
func TestReceiveIsNoDeadlock(t *testing.T) {
	run(t, func(ctx context.Context) error {
		ch := make(chan int)
		for range 3 {
			rondo.Go(ctx, func(ctx context.Context) error {
				if _, _, err := rondo.Receive(ctx, ch); err != context.Canceled {
					t.Errorf("at the end of the loop Receive returned %v", err)
				}
				return nil
			})
		}
		late := make(chan int)
		go func() { runtime.Gosched(); late <- 1 }()
		_, _, err := rondo.Receive(ctx, late)
		return err
	})
	err := ending.Run(context.Background(), func(ctx context.Context) error {
		_, ok, err := rondo.Receive[int](ctx, nil)
		if ok {
			t.Error("a value came out of a nil channel")
		}
		return err
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run with a nil channel returned %v", err)
	}
}

// TestClockWaitsForReceive: simulated time stands still while a Receive waits for
// a goroutine, and each seed repeats.
func TestClockWaitsForReceive(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			for range 3 {
				ch := make(chan int)
				go func() {
					rondo.Tasks(ctx) // the loop answers when the task waits
					close(ch)
				}()
				if _, _, err := rondo.Receive(ctx, ch); err != nil {
					return err
				}
			}
			return rondo.Sleep(ctx, time.Second)
		})
		if err != nil || rondo.Now(ctx).Sub(start) != time.Second {
			t.Errorf("Timeout returned %v after %v", err, rondo.Now(ctx).Sub(start))
		}
	})
}

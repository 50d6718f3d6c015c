package shard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestChanMany: many senders and receivers on all shards lose and double nothing.
func TestChanMany(t *testing.T) {
	const shards, tasks, values = 3, 8, 200
	c := shard.NewChan[int](4)
	seen := make([][]int, shards)
	sent := shard.NewChan[int](shards * tasks)
	mustRun(t, shards, func(ctx context.Context, s *shard.Shard) error {
		for range tasks {
			rondo.Go(ctx, func(ctx context.Context) error {
				for v := range c.All(ctx) {
					seen[s.Index()] = append(seen[s.Index()], v)
				}
				return nil
			})
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range tasks {
				g.Go(func(ctx context.Context) error {
					for j := range values {
						if err := c.Send(ctx, (s.Index()*tasks+i)*values+j); err != nil {
							return err
						}
					}
					return sent.Send(ctx, 1)
				})
			}
			if s.Index() > 0 {
				return nil
			}
			for range shards * tasks {
				if _, err := sent.Recv(g); err != nil {
					return err
				}
			}
			for c.Len() > 0 {
				if err := rondo.Yield(g); err != nil {
					return err
				}
			}
			return nil
		})
	})
	times := make([]int, shards*tasks*values)
	for _, vs := range seen {
		for _, v := range vs {
			times[v]++
		}
	}
	for v, n := range times {
		if n != 1 {
			t.Fatalf("value %d was received %d times", v, n)
		}
	}
}

// waiting returns when n tasks of ctx's loop wait for what.
func waiting(ctx context.Context, what string, n int) {
	for {
		found := 0
		for _, task := range rondo.Tasks(ctx) {
			if task.Waiting == what {
				found++
			}
		}
		if found == n || rondo.Yield(ctx) != nil {
			return
		}
	}
}

// TestChanCancelled: a wait that is cancelled takes and sends nothing, and leaves
// nothing behind; one that was served before has its value.
func TestChanCancelled(t *testing.T) {
	c := shard.NewChan[int](1)
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		receiver := rondo.Go(ctx, func(ctx context.Context) error { _, err := c.Recv(ctx); return err })
		waiting(ctx, "chan receive", 1)
		receiver.Cancel(errBad)
		if err := receiver.Wait(ctx); err != errBad {
			t.Errorf("Recv: %v", err)
		}
		if err := c.Send(ctx, 1); err != nil || c.Len() != 1 {
			t.Errorf("Send: %v; the Chan holds %d values", err, c.Len())
		}
		sender := rondo.Go(ctx, func(ctx context.Context) error { return c.Send(ctx, 2) })
		waiting(ctx, "chan send", 1)
		sender.Cancel(errBad)
		if err := sender.Wait(ctx); err != errBad {
			t.Errorf("Send: %v", err)
		}
		if v, err := c.Recv(ctx); v != 1 || err != nil || c.Len() != 0 {
			t.Errorf("Recv: %d, %v; the Chan holds %d values", v, err, c.Len())
		}
		// Served and cancelled before it can know: the wait has succeeded, also for a
		// Timeout around it.
		var got int
		served := rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) (err error) { got, err = c.Recv(g); return err })
		})
		waiting(ctx, "chan receive", 1)
		if err := c.Send(ctx, 9); err != nil {
			return err
		}
		served.Cancel(errBad)
		if err := served.Wait(ctx); err != nil || got != 9 {
			t.Errorf("Recv that was served first: %d, %v", got, err)
		}
		return nil
	})
}

// TestChanOffShards: the tasks of any loop may use a Chan; a goroutine may not.
func TestChanOffShards(t *testing.T) {
	c := shard.NewChan[int](1)
	done := make(chan error, 1)
	go func() {
		done <- rondo.Run(t.Context(), func(ctx context.Context) error {
			for i := range 100 {
				if err := c.Send(ctx, i); err != nil {
					return err
				}
			}
			c.Close()
			return nil
		})
	}()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		sum := 0
		for v := range c.All(ctx) {
			sum += v
		}
		if sum != 4950 {
			t.Errorf("the sum is %d", sum)
		}
		return rondo.Check(ctx)
	})
	if err := errors.Join(err, <-done); err != nil {
		t.Error(err)
	}
	if err := c.Send(t.Context(), 1); !errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("Send of a goroutine: %v", err)
	}
	defer func() {
		if v, _ := recover().(string); !strings.Contains(v, "no running loop") {
			t.Errorf("All of a goroutine: %v", v)
		}
	}()
	for range c.All(t.Context()) {
	}
}

// TestChanTrySend: it never waits, fills what room there is, and wakes a receiver on
// another shard, also from a goroutine.
func TestChanTrySend(t *testing.T) {
	c := shard.NewChan[int](2)
	for i, want := range []bool{true, true, false} {
		if c.TrySend(i) != want {
			t.Errorf("TrySend %d returned %v", i, !want)
		}
	}
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		got, err := shard.Call(ctx, s.At(1), func(ctx context.Context) ([3]int, error) {
			var got [3]int
			for i := range got {
				if i == 2 {
					go c.TrySend(2)
				}
				v, err := c.Recv(ctx)
				if err != nil {
					return got, err
				}
				got[i] = v
			}
			return got, nil
		})
		if got != [3]int{0, 1, 2} || err != nil {
			t.Errorf("received %v, %v", got, err)
		}
		receiver := rondo.Go(ctx, func(ctx context.Context) error { _, err := c.Recv(ctx); return err })
		waiting(ctx, "chan receive", 1)
		if !c.TrySend(3) || !c.TrySend(4) || c.Len() != 1 {
			t.Errorf("two values for one receiver, and %d are held", c.Len())
			receiver.Cancel(nil)
		}
		if err := receiver.Wait(ctx); err != nil {
			t.Error(err)
		}
		c.Close()
		if c.TrySend(5) {
			t.Error("TrySend to a Chan that is closed")
		}
		return nil
	})
}

// A lateCtx is cancelled between the check with which a call begins and its wait. It calls before
// first.
type lateCtx struct {
	context.Context
	before func()
	asked  int
}

func (c *lateCtx) Err() error {
	if c.asked++; c.asked > 1 {
		if c.asked == 2 && c.before != nil {
			c.before()
		}
		return context.Canceled
	}
	return nil
}

// TestChanCancelledLate: a Send or Recv that fails when it begins to wait leaves nothing
// in the Chan: the value was not sent, and takes no value from others. One that was served before
// that succeeds.
func TestChanCancelledLate(t *testing.T) {
	onFirst(t, 1, func(ctx context.Context, _ *shard.Shard) error {
		c := shard.NewChan[int](1)
		if _, err := c.Recv(&lateCtx{Context: ctx}); err != context.Canceled {
			t.Errorf("Recv: %v", err)
		}
		if !c.TrySend(1) || c.Len() != 1 {
			t.Errorf("%d values are held after a TrySend", c.Len())
		}
		if err := c.Send(&lateCtx{Context: ctx}, 2); err != context.Canceled {
			t.Errorf("Send: %v", err)
		}
		if v, err := c.Recv(ctx); v != 1 || err != nil || c.Len() != 0 {
			t.Errorf("received %d, %v; %d values are left", v, err, c.Len())
		}
		if v, err := c.Recv(&lateCtx{Context: ctx, before: func() { c.TrySend(3) }}); v != 3 || err != nil {
			t.Errorf("received %d, %v; it was sent before the cancellation", v, err)
		}
		return nil
	})
}

// TestChanSharesTurns: a task that never has to wait for its Chan lets others of its shard run.
func TestChanSharesTurns(t *testing.T) {
	err := (&shard.Runner{Loops: 1}).Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		c := shard.NewChan[int](4)
		turns := 0
		rondo.Go(ctx, func(ctx context.Context) error {
			for ; ; turns++ {
				if err := rondo.Yield(ctx); err != nil {
					return nil
				}
			}
		})
		for i := 0; turns < 3; i++ {
			if i == 10_000_000 {
				t.Fatalf("another task ran %d times while %d values were sent and received", turns, i)
			}
			if err := c.Send(ctx, i); err != nil {
				return err
			}
			if v, err := c.Recv(ctx); v != i || err != nil {
				t.Fatalf("received %d, %v; want %d", v, err, i)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestChanNamesTheProgram: a call with a ctx of no loop names itself and a line of the
// program.
func TestChanNamesTheProgram(t *testing.T) {
	_, err := shard.NewChan[int](1).Recv(t.Context())
	if err == nil || !strings.Contains(err.Error(), "shard.Chan.Recv: ") || !strings.Contains(err.Error(), "chan_test.go:") {
		t.Error(err)
	}
}

// TestChanIsNamed: a task that waits says for which Chan.
func TestChanIsNamed(t *testing.T) {
	onFirst(t, 1, func(ctx context.Context, _ *shard.Shard) error {
		c := shard.NewChan[int](1)
		c.Name = "jobs"
		receiver := rondo.Go(ctx, func(ctx context.Context) error { _, err := c.Recv(ctx); return err })
		waiting(ctx, "chan receive", 1)
		if of := receiver.Info().Of; of != "jobs" {
			t.Errorf("it waits for %q", of)
		}
		c.TrySend(1)
		return receiver.Wait(ctx)
	})
}

// TestChanOfNothing: a Chan holds at least one value.
func TestChanOfNothing(t *testing.T) {
	for _, n := range []int{0, -1} {
		func() {
			defer func() {
				if v, _ := recover().(string); !strings.Contains(v, "not positive: use 1 or more") {
					t.Errorf("NewChan(%d): %v", n, v)
				}
			}()
			shard.NewChan[int](n)
		}()
	}
}

// TestClosedErrors: an error that something was closed matches rondo.ErrClosed, and no other
// of its kind.
func TestClosedErrors(t *testing.T) {
	closed := []error{rondo.ErrQueueClosed, rondo.ErrLoopClosed, socket.ErrServerClosed, socket.ErrPeerClosed, shard.ErrClosed, broadcast.ErrClosed}
	for i, err := range closed {
		if !errors.Is(fmt.Errorf("work: %w", err), rondo.ErrClosed) || err == rondo.ErrClosed || errors.Is(err, closed[(i+1)%len(closed)]) {
			t.Errorf("%v does not match ErrClosed, or matches more", err)
		}
	}
}

// TestChanThenSleep: a wait that a Chan has ended says nothing about the next one.
func TestChanThenSleep(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		c := shard.NewChan[int](1)
		task := rondo.Go(ctx, func(ctx context.Context) error {
			if v, err := c.Recv(ctx); v != 7 || err != nil {
				t.Errorf("Recv: %d, %v", v, err)
			}
			if err := rondo.Sleep(ctx, time.Hour); err != errBad {
				t.Errorf("Sleep of a task that is cancelled: %v", err)
			}
			return nil
		})
		_ = rondo.Sleep(ctx, time.Second)
		if err := c.Send(ctx, 7); err != nil {
			t.Error(err)
		}
		_ = rondo.Sleep(ctx, time.Second)
		task.Cancel(errBad)
		_ = task.Wait(ctx)
	})
}

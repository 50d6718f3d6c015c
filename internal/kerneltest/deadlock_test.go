package kerneltest_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// ending is a Runner whose loop ends soon when nothing known can wake it.
var ending = &rondo.Runner{EndDeadlock: time.Millisecond}

func TestDeadlockIsAnError(t *testing.T) {
	var a, b rondo.Mutex
	held := 0
	err := ending.Run(context.Background(), func(ctx context.Context) error {
		lockBoth := func(first, second *rondo.Mutex) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				if err := first.Lock(ctx); err != nil {
					return err
				}
				defer first.Unlock()
				for held++; held < 2; {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				if err := second.Lock(ctx); err != nil {
					return err
				}
				second.Unlock()
				return nil
			}
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(lockBoth(&a, &b)).SetName("left")
			g.Go(lockBoth(&b, &a)).SetName("right")
			return nil
		})
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Fatalf("Run returned %v", err)
	}
	for _, want := range []string{"left waits for lock held by right", "right waits for lock held by left", "main waits for group", "in a ring, which only a cancellation can end: ", "deadlock_test.go:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

// TestStillLoopGoesOn: without EndDeadlock a loop that nothing known can wake says so once, a
// second later, and goes on: a goroutine that has a Scope of it may cancel that.
func TestStillLoopGoesOn(t *testing.T) {
	log := &logged{of: "nothing known", seen: make(chan bool, 1)}
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			go func() {
				<-log.seen
				g.Cancel(errStop)
			}()
			return forever(g)
		})
	})
	if n := strings.Count(log.String(), "nothing known can wake the loop"); err != errStop || n != 1 {
		t.Errorf("Run returned %v, after %d reports", err, n)
	}
}

// TestDeadlockAfterOffload: a function that has ended can wake nobody.
func TestDeadlockAfterOffload(t *testing.T) {
	err := ending.Run(context.Background(), func(ctx context.Context) error {
		if err := rondo.OffloadFunc(ctx, func(context.Context) error { return nil }); err != nil {
			return err
		}
		return forever(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v", err)
	}
}

// TestDeadlockBehindShield: a Shield does not keep the loop from ending a
// deadlock.
func TestDeadlockBehindShield(t *testing.T) {
	err := ending.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Shield(ctx, forever)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v", err)
	}
}

// TestLoopThatWasAskedForIsNoDeadlock: any goroutine may Post to a loop that LoopOf has
// returned, so that loop is not in deadlock. It does not matter which goroutine called
// LoopOf, nor whether a task waited for a Future at that moment.
func TestLoopThatWasAskedForIsNoDeadlock(t *testing.T) {
	for name, ask := range map[string]func(ctx context.Context) *rondo.Loop{
		"in a task": rondo.LoopOf,
		"by a goroutine": func(ctx context.Context) *rondo.Loop {
			l := make(chan *rondo.Loop)
			go func() { l <- rondo.LoopOf(ctx) }()
			return <-l
		},
		"while a task waits for a Future": func(ctx context.Context) (l *rondo.Loop) {
			f := rondo.NewFuture[int](ctx)
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { _, err := f.Wait(ctx); return err })
				_ = rondo.Yield(g)
				l = rondo.LoopOf(g)
				f.Set(1)
				return nil
			})
			return l
		},
	} {
		err := ending.Run(context.Background(), func(ctx context.Context) error {
			var e rondo.Event
			l := ask(ctx)
			time.AfterFunc(50*time.Millisecond, func() { _ = l.Post(e.Set) })
			return e.Wait(ctx)
		})
		if err != nil {
			t.Errorf("asked %s: Run returned %v", name, err)
		}
	}
}

// TestDeadlockAtTheEnd: a deadlock while the loop ends is found, also if SlowStep
// is set.
func TestDeadlockAtTheEnd(t *testing.T) {
	r := rondo.Runner{SlowStep: time.Hour, EndDeadlock: time.Millisecond, OnError: func(rondo.TaskInfo, error) {}}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Shield(ctx, forever) })
		return rondo.Yield(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v", err)
	}
}

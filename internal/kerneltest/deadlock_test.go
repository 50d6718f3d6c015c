package kerneltest_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	reports "github.com/rondo-go/rondo/internal/report"
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

// deadlockAlarms returns a function that calls each whenever a deadlock is reported to those that
// keep flight records, until it is called itself. Then it returns how often that was.
func deadlockAlarms(each func()) (stop func() int) {
	alarms, ended, count := make(chan reports.Alarm, 1), make(chan int), 0
	unlisten := reports.Listen(alarms)
	go func() {
		for a := range alarms {
			if a.Word == "deadlock" {
				count++
				each()
			}
			a.Seen()
		}
		ended <- count
	}()
	return func() int { unlisten(); close(alarms); return <-ended }
}

// TestDeadlockKeepsRecord: a loop that ends because of a deadlock reports it first, and waits for
// those that keep its flight record: they find the loop as it was.
func TestDeadlockKeepsRecord(t *testing.T) {
	var during error
	cleaned := false
	stop := deadlockAlarms(func() {
		for range 100 {
			runtime.Gosched() // a loop that does not wait would go on meanwhile
		}
		if cleaned {
			during = errors.New("main has ended")
		}
	})
	err := ending.Run(t.Context(), func(ctx context.Context) error {
		defer func() { cleaned = true }()
		return forever(ctx)
	})
	if n := stop(); n != 1 || during != nil || !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v; %d reports came, and at that moment: %v", err, n, during)
	}
}

// TestStillLoopGoesOn: without EndDeadlock a loop that nothing known can wake says so once, a
// second later, and goes on: a goroutine that has a Scope of it may cancel that.
func TestStillLoopGoesOn(t *testing.T) {
	stop := deadlockAlarms(func() {})
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
	if n, alarms := strings.Count(log.String(), "nothing known can wake the loop"), stop(); err != errStop || n != 1 || alarms != 1 {
		t.Errorf("Run returned %v, after %d lines in the log and %d alarms", err, n, alarms)
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

// TestDeadlockBehindShield: a Shield does not keep the loop from ending a deadlock, whatever waits
// in it.
func TestDeadlockBehindShield(t *testing.T) {
	for name, body := range map[string]func(ctx context.Context) error{
		"a wait":  forever,
		"a Group": func(ctx context.Context) error { return rondo.Group(ctx, starts(2, 0)) },
		"a Group with a task that its limit holds back": func(ctx context.Context) error { return rondo.Group(ctx, starts(2, 1)) },
	} {
		err := ending.Run(context.Background(), func(ctx context.Context) error { return rondo.Shield(ctx, body) })
		if !errors.Is(err, rondo.ErrDeadlock) {
			t.Errorf("%s: Run returned %v", name, err)
		}
	}
}

// starts returns the body of a Group that starts n tasks that wait, of which limit run at once.
func starts(n, limit int) func(g *rondo.Scope) error {
	return func(g *rondo.Scope) error {
		if limit > 0 {
			g.SetLimit(limit)
		}
		for range n {
			g.Go(forever)
		}
		return nil
	}
}

// TestDeadlockEndsShieldsLast: a wait in a Shield is not ended by the deadlock if the clean-up of
// another task ends it.
func TestDeadlockEndsShieldsLast(t *testing.T) {
	var cleaned rondo.Event
	err := ending.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			defer cleaned.Set()
			return forever(ctx)
		})
		if err := rondo.Shield(ctx, cleaned.Wait); err != nil {
			t.Errorf("the wait returned %v", err)
		}
		return nil
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

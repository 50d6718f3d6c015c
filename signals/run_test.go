package signals_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/sim"
)

var errFailed = errors.New("failed")

// TestRun: the signal ends body, and the tasks have the grace. A program that ends so
// returns nil; what fails is returned.
func TestRun(t *testing.T) {
	wait := func(ctx context.Context) error { return rondo.WaitCanceled(ctx) }
	for name, c := range map[string]struct {
		body, task func(ctx context.Context) error
		grace      time.Duration
		ends       time.Duration // after the signal, which comes after an hour
		want       string        // the error of Run
	}{
		"nothing is left":           {wait, nil, time.Minute, 0, ""},
		"a task ends in time":       {wait, sleep(time.Hour+10*time.Second, nil), time.Minute, 10 * time.Second, ""},
		"the grace is over":         {wait, wait, time.Minute, time.Minute, ""},
		"no grace":                  {wait, wait, 0, 0, ""},
		"less than none":            {wait, wait, -time.Second, 0, ""},
		"a task fails in the grace": {wait, sleep(time.Hour+time.Second, errFailed), time.Minute, time.Second, "failed"},
		"body says more":            {func(ctx context.Context) error { return fmt.Errorf("commit: %w", wait(ctx)) }, nil, time.Minute, 0, "commit: rondo: ended by a signal: terminated"},
		"a task says more":          {wait, func(ctx context.Context) error { return errors.Join(wait(ctx), errFailed) }, time.Minute, time.Minute, "failed"},
		"a deadline of its own":     {wait, func(ctx context.Context) error { return rondo.Timeout(ctx, time.Hour+time.Second, wait) }, time.Minute, time.Second, "context deadline exceeded"},
		"both have ended before":    {sleep(time.Minute, nil), sleep(time.Second, nil), time.Minute, -59 * time.Minute, ""},
		"a task goes on after body": {sleep(time.Minute, nil), sleep(2*time.Minute, nil), time.Minute, -58 * time.Minute, ""},
		"body fails before":         {sleep(time.Minute, errFailed), wait, time.Minute, -59 * time.Minute, "failed"},
		"a task fails before":       {wait, sleep(time.Minute, errFailed), time.Minute, -59 * time.Minute, "failed"},
	} {
		sim.Config{Seeds: 5, SeedsShort: 5, Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
			var got error
			var took time.Duration
			h := w.Host("a", func(ctx context.Context) error {
				start := rondo.Now(ctx)
				got = signals.Run(ctx, c.grace, func(ctx context.Context, tasks *rondo.Scope) error {
					if c.task != nil {
						tasks.Go(c.task)
					}
					err := c.body(ctx)
					if errors.As(err, new(signals.Error)) && rondo.Check(tasks) != nil && c.grace > 0 {
						t.Errorf("%s: the tasks are cancelled with body", name)
					}
					return err
				})
				took = rondo.Now(ctx).Sub(start) - time.Hour
				return nil
			})
			_ = rondo.Sleep(ctx, time.Hour)
			h.Signal(syscall.SIGTERM)
			_ = rondo.Sleep(ctx, time.Hour)
			text := ""
			if got != nil {
				text = got.Error()
			}
			if text != c.want || took != c.ends {
				t.Errorf("%s: Run returned %v after the signal and %v, want %q after %v", name, got, took, c.want, c.ends)
			}
		})
	}
}

// sleep returns a function that returns err after d.
func sleep(d time.Duration, err error) func(ctx context.Context) error {
	return func(ctx context.Context) error { return errors.Join(rondo.Sleep(ctx, d), err) }
}

// TestRunSooner: a signal that comes before body runs cancels it too.
func TestRunSooner(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Minute} {
		sim.Config{Seeds: 20, SeedsShort: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
			ended := false
			h := w.Host("a", func(ctx context.Context) error {
				err := signals.Run(ctx, grace, func(ctx context.Context, _ *rondo.Scope) error { return rondo.WaitCanceled(ctx) }, os.Interrupt)
				ended = true
				return err
			})
			for h.Up() && !ended {
				h.Signal(os.Interrupt) // until it catches it, this ends the host
				_ = rondo.Yield(ctx)
			}
			_ = rondo.Sleep(ctx, time.Second)
			if h.Up() && !ended {
				t.Error("Run goes on")
			}
		})
	}
}

// TestRunCancelled: a cancellation from above is returned, without any grace.
func TestRunCancelled(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			return signals.Run(ctx, time.Hour, func(ctx context.Context, tasks *rondo.Scope) error {
				tasks.Go(rondo.WaitCanceled)
				return rondo.WaitCanceled(ctx)
			})
		})
		if !errors.Is(err, context.DeadlineExceeded) || rondo.Now(ctx).Sub(start) != time.Second {
			t.Errorf("Run returned %v after %v", err, rondo.Now(ctx).Sub(start))
		}
	})
}

// panicOf returns what fn panics with, as an error.
func panicOf(fn func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	fn()
	return nil
}

func TestRunMistakes(t *testing.T) {
	body := func(context.Context, *rondo.Scope) error { return nil }
	sim.Test(t, func(ctx context.Context) {
		for want, call := range map[string]func(){
			"rondo: signals.Run with a nil body":                       func() { _ = signals.Run(ctx, 0, nil) },
			"rondo: signals.Run of \"killed\", which cannot be caught": func() { _ = signals.Run(ctx, 0, body, os.Kill) },
		} {
			if err := panicOf(call); err == nil || err.Error() != want {
				t.Errorf("panic %v, want %q", err, want)
			}
		}
		if err := signals.Run(context.Background(), 0, body); !errors.Is(err, rondo.ErrNoLoop) || !strings.HasPrefix(err.Error(), "rondo: signals.Run: ") {
			t.Errorf("with a ctx of no loop: %v", err)
		}
	})
}

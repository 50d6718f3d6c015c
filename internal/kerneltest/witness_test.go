package kerneltest_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestWitnesses has a loop say where its tasks wait, each in another way, and go on with them
// after that: they end as they would have ended.
func TestWitnesses(t *testing.T) {
	log := &logged{of: "nothing known", seen: make(chan bool, 1)}
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	runner := rondo.Runner{Tracer: &rondo.Tracer{}}
	ended := make(map[string]error)
	err := runner.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			go func() {
				<-log.seen
				g.Cancel(errStop)
			}()
			var held rondo.Mutex
			held.TryLock()
			waits := map[string]func(ctx context.Context) error{
				"locker": func(ctx context.Context) error { return lockedHere(ctx, &held) },
				"nester": nestedHere,
				"other": func(ctx context.Context) error {
					inner, stop := context.WithCancel(ctx)
					defer stop()
					return otherHere(inner)
				},
				"puller": func(ctx context.Context) error {
					next, stop := rondo.Pull(ctx, func(yield func(int) bool) { yield(pulledHere(ctx)) })
					defer stop()
					next()
					return rondo.Check(ctx)
				},
			}
			for name, wait := range waits {
				g.Go(func(ctx context.Context) error {
					err := wait(ctx)
					ended[name] = err
					if state := rondo.Current(ctx).Info().State; state != "running" {
						t.Errorf("%s goes on, and is %s", name, state)
					}
					return err
				}).SetName(name)
			}
			return nil
		})
	})
	if err != errStop || len(ended) != 4 {
		t.Errorf("Run returned %v, and %d tasks of 4 ended", err, len(ended))
	}
	for name, err := range ended {
		if !errors.Is(err, errStop) {
			t.Errorf("%s ended with %v", name, err)
		}
	}
	for _, where := range []string{"lockedHere", "nestedHere.func1", "otherHere", "pulledHere"} {
		if n := strings.Count(log.String(), where+" at"); n != 1 {
			t.Errorf("%d tasks are said to wait in %s, want 1:\n%s", n, where, log)
		}
	}
}

//go:noinline
func lockedHere(ctx context.Context, m *rondo.Mutex) error { return m.Lock(ctx) }

//go:noinline
func otherHere(ctx context.Context) error {
	var never rondo.Event
	return never.Wait(ctx)
}

//go:noinline
func pulledHere(ctx context.Context) int {
	var never rondo.Event
	_ = never.Wait(ctx)
	return 0
}

//go:noinline
func nestedHere(ctx context.Context) (err error) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		var never rondo.Event
		err = never.Wait(ctx)
		yield(0)
	})
	defer stop()
	next()
	return err
}

package examples_test

// These tests hold docs/PRODUCTION.md to what happens.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

var errDisk, errNet = errors.New("disk full"), errors.New("no route")

// TestErrors is the table of errors.
func TestErrors(t *testing.T) {
	fail := func(err error) func(ctx context.Context) error {
		return func(ctx context.Context) error { return err }
	}
	for _, c := range []struct {
		name string
		do   func(ctx context.Context) error
		want string
	}{
		{"all return nil", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(fail(nil)); return nil })
		}, "<nil>"},
		{"a task fails", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(fail(errDisk)); return rondo.WaitCanceled(g) })
		}, "disk full"},
		{"several fail", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(fail(errDisk)); return errNet })
		}, "no route\ndisk full"},
		{"cancelled with a cause", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Cancel(errNet); return rondo.WaitCanceled(g) })
		}, "no route"},
		{"cancelled without one", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Cancel(nil); return rondo.WaitCanceled(g) })
		}, "<nil>"},
		{"the time is over", func(ctx context.Context) error {
			return rondo.Timeout(ctx, time.Millisecond, rondo.WaitCanceled)
		}, "context deadline exceeded"},
		{"the time is over, and ended no wait", func(ctx context.Context) error {
			return rondo.Timeout(ctx, -time.Second, fail(nil))
		}, "<nil>"},
		{"the scope above is cancelled", func(ctx context.Context) error {
			return rondo.Group(ctx, func(above *rondo.Scope) error {
				above.Go(func(ctx context.Context) error {
					err := rondo.Group(ctx, func(g *rondo.Scope) error { return rondo.WaitCanceled(g) })
					if err != errNet {
						return fmt.Errorf("the inner group returns %w", err)
					}
					return err
				})
				if err := rondo.Yield(above); err != nil {
					return err
				}
				above.Cancel(errNet)
				return nil
			})
		}, "no route"},
		{"cancelled before the call", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Cancel(errNet)
				return rondo.Group(g, func(*rondo.Scope) error { return errors.New("the body ran") })
			})
		}, "no route"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got error
			if err := rondo.Run(t.Context(), func(ctx context.Context) error { got = c.do(ctx); return nil }); err != nil {
				t.Error(err)
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("%q, not %q", fmt.Sprint(got), c.want)
			}
		})
	}
}

// TestRunErrors is what Run returns, and what goes to OnError.
func TestRunErrors(t *testing.T) {
	var told []string
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { told = append(told, err.Error()) }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { return errDisk })
		return rondo.Yield(ctx)
	})
	if err != nil || strings.Join(told, ",") != "disk full" {
		t.Errorf("Run returns %v, and OnError gets %q", err, told)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rondo.Run(ended, func(context.Context) error { return errors.New("main ran") }); err != context.Canceled {
		t.Errorf("with a cancelled ctx Run returns %v", err)
	}
}

// TestPanics: a panic ends the loop, or with Recover it is the task's error.
func TestPanics(t *testing.T) {
	main := func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { panic("lost") })
			return nil
		})
	}
	r := rondo.Runner{Recover: true}
	if err := r.Run(t.Context(), main); !errors.As(err, new(*rondo.PanicError)) {
		t.Errorf("with Recover the error is %v", err)
	}
	defer func() {
		if _, ok := recover().(*rondo.PanicError); !ok {
			t.Error("without Recover Run does not panic with a PanicError")
		}
	}()
	_ = rondo.Run(t.Context(), main)
}

// TestZeroValues: some are ready, and those that are not say so.
func TestZeroValues(t *testing.T) {
	if !new(rondo.Queue[int]).TryPut(1) || new(rondo.Semaphore).TryAcquire() {
		t.Error("a zero Queue is full, or a zero Semaphore has a permit")
	}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		for name, use := range map[string]func(){
			"Barrier": func() { _, _ = new(rondo.Barrier).Wait(ctx) },
			"Future":  func() { new(rondo.Future[int]).Set(1) },
			"Cond":    func() { _ = new(rondo.Cond).Wait(ctx) },
		} {
			func() {
				defer func() {
					if p := fmt.Sprint(recover()); !strings.Contains(p, "rondo: ") {
						t.Errorf("a zero %s says %q", name, p)
					}
				}()
				use()
			}()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

package kerneltest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestStart(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			ready := false
			err := g.Start(g, func(ctx context.Context, started func()) error {
				if err := rondo.Sleep(ctx, time.Second); err != nil {
					return err
				}
				ready = true
				started()
				return forever(ctx)
			})
			if err != nil || !ready {
				t.Errorf("Start returned %v; the task is ready: %v", err, ready)
			}
			err = rondo.Timeout(g, time.Second, func(ctx context.Context) error {
				return g.Start(ctx, func(ctx context.Context, started func()) error { return forever(ctx) })
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a Start that was cancelled returned %v", err)
			}
			g.Cancel(nil)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			return g.Start(g, func(ctx context.Context, started func()) error { return errBroken })
		})
		if err != errBroken {
			t.Errorf("Start of a task that fails at once returned %v", err)
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			return g.Start(g, func(ctx context.Context, started func()) error { return nil })
		})
		if err == nil || !strings.Contains(err.Error(), "without calling started") {
			t.Errorf("Start of a task that ends at once returned %v", err)
		}
		// An error before started is called is returned by Start only.
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				err := g.Start(g, func(ctx context.Context, started func()) error { _ = rondo.Yield(ctx); return errBroken })
				if err != errBroken {
					t.Errorf("Start of a task that fails returned %v", err)
				}
			}
			return rondo.Check(g)
		})
		if err != nil {
			t.Errorf("the Group of three tasks that failed to start returned %v", err)
		}
		// An error after started was called is the Group's.
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := g.Start(g, func(ctx context.Context, started func()) error { started(); return errBroken }); err != nil {
				t.Errorf("Start of a task that fails later returned %v", err)
			}
			return nil
		})
		if err != errBroken {
			t.Errorf("the Group of a task that failed later returned %v", err)
		}
	})
}

// TestStartThatIsCancelledKeepsErrors: Start that is cancelled returns the error
// that the task's clean-up failed with.
func TestStartThatIsCancelledKeepsErrors(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			err := rondo.Timeout(g, time.Second, func(ctx context.Context) error {
				return g.Start(ctx, func(ctx context.Context, started func()) error {
					return errors.Join(forever(ctx), errBroken)
				})
			})
			if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Start returned %v", err)
			}
			return rondo.Check(g)
		})
		if err != nil {
			t.Errorf("Group returned %v", err)
		}
	})
}

// TestStartThatIsCancelledKeepsPanics: a panic of the task of a Start that was cancelled is
// an error of the scope, as other panics of its tasks are: of the root scope for OnError.
func TestStartThatIsCancelledKeepsPanics(t *testing.T) {
	var reported error
	r := rondo.Runner{Recover: true, OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		root := ctx.(*rondo.Scope)
		err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
			return root.Start(ctx, func(ctx context.Context, started func()) error {
				_ = forever(ctx)
				panic(errBroken)
			})
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start returned %v", err)
		}
		return nil
	})
	if err != nil || !errors.Is(reported, errBroken) {
		t.Errorf("Run returned %v, OnError got %v", err, reported)
	}
}

// TestStartPanicsWithPulls: Start returns the panic of a task, also if the task
// has to wait for the clean-up of a Pull.
func TestStartPanicsWithPulls(t *testing.T) {
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		var got error
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			got = g.Start(ctx, func(ctx context.Context, started func()) error {
				next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
					yield(1)
					_ = lingering(ctx)
				})
				next()
				panic("oops")
			})
			return nil
		})
		var p *rondo.PanicError
		if !errors.As(got, &p) || !errors.Is(err, got) {
			t.Errorf("Start returned %v, Group %v", got, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

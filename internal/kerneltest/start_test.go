package kerneltest

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
				t.Errorf("Start returned %v, ready %v", err, ready)
			}
			err = rondo.Timeout(g, time.Second, func(ctx context.Context) error {
				return g.Start(ctx, func(ctx context.Context, started func()) error { return forever(ctx) })
			})
			if err != context.DeadlineExceeded {
				t.Errorf("Start that was cancelled returned %v", err)
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
			t.Errorf("Start of a task that failed at once: %v", err)
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			return g.Start(g, func(ctx context.Context, started func()) error { return nil })
		})
		if err == nil || !strings.Contains(err.Error(), "without calling started") {
			t.Errorf("Start of a task that ended at once: %v", err)
		}
		// What fails before it has started is the starter's affair alone.
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				err := g.Start(g, func(ctx context.Context, started func()) error { _ = rondo.Yield(ctx); return errBroken })
				if err != errBroken {
					t.Errorf("Start of a task that failed: %v", err)
				}
			}
			return rondo.Check(g)
		})
		if err != nil {
			t.Errorf("the scope of three tasks that failed to start returned %v", err)
		}
		// What fails afterwards is the scope's.
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := g.Start(g, func(ctx context.Context, started func()) error { started(); return errBroken }); err != nil {
				t.Errorf("Start of a task that failed afterwards: %v", err)
			}
			return nil
		})
		if err != errBroken {
			t.Errorf("a scope whose task failed after its start returned %v", err)
		}
	})
}

// TestStartThatIsCancelledKeepsErrors: the clean-up of a task that was not yet
// started may fail, and Start tells.
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

// TestStartPanicsWithPulls: Start tells of a panic also if the task has a Pull,
// whose clean-up takes a while, to end first.
func TestStartPanicsWithPulls(t *testing.T) {
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		var told error
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			told = g.Start(ctx, func(ctx context.Context, started func()) error {
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
		if !errors.As(told, &p) || !errors.Is(err, told) {
			t.Errorf("Start returned %v, the group %v", told, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

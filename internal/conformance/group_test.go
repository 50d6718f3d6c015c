package conformance

// Behaviour that asyncio promises of TaskGroup, timeout, gather, wait,
// as_completed, shield and Runner, and trio of its scopes, each under the number
// of the project's list. Where Rondo means to differ, the test shows what Rondo
// does.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestC090GroupWaitsForBoth(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start, cut := rondo.Now(ctx), false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Second, nil, &cut))
			g.Go(sleeper(2*time.Second, nil, &cut))
			return nil
		})
		if err != nil || cut || rondo.Now(ctx).Sub(start) != 2*time.Second {
			t.Error(err, cut, rondo.Now(ctx).Sub(start))
		}
	})
}

func TestC091GroupFirstErrorCancelsSiblings(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut, body := false, error(nil)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			g.Go(func(context.Context) error { return errBroken })
			body = rondo.Sleep(g, time.Hour)
			return body
		})
		if err != errBroken || body != errBroken || !cut {
			t.Errorf("Group returned %v, body's wait %v, sibling cancelled %v", err, body, cut)
		}
		if err := rondo.Check(ctx); err != nil {
			t.Errorf("the scope around is cancelled: %v", err)
		}
	})
}

func TestC092GroupKeepsAllErrorsInOrder(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					return rondo.Shield(ctx, func(ctx context.Context) error {
						_ = rondo.Sleep(ctx, time.Duration(3-i)*time.Second)
						return fmt.Errorf("error %d", i)
					})
				})
			}
			_ = rondo.Sleep(g, 1)
			return nil
		})
		if got := fmt.Sprint(err); got != "error 2\nerror 1\nerror 0" {
			t.Errorf("Group returned %q", got)
		}
	})
}

func TestC093BodyErrorCancelsChildren(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			return errBroken
		})
		if err != errBroken || !cut {
			t.Error(err, cut)
		}
	})
}

func TestC094OuterCancellationIsNoErrorOfTheGroup(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cut := false
		task := rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(sleeper(time.Hour, nil, &cut))
				g.Go(sleeper(time.Hour, nil, &cut))
				return nil
			})
			if err != errBroken {
				t.Errorf("Group returned %v, want the cause once", err)
			}
			return err
		})
		_ = rondo.Sleep(ctx, 1)
		task.Cancel(errBroken)
		if err := task.Wait(ctx); err != errBroken || !cut {
			t.Error(err, cut)
		}
	})
}

// A panic is what is fatal in Go: it comes before all errors.
func TestC097PanicComesBeforeErrors(t *testing.T) {
	text := panicOf(func() {
		_ = rondo.Run(t.Context(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error { return errBroken })
				_ = rondo.Yield(g)
				panic("fatal")
			})
		})
	})
	if !strings.Contains(text, "fatal") {
		t.Errorf("Run panicked with %.80q", text)
	}
}

func TestC099GoInAnEndedGroup(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var kept *rondo.Scope
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
		for name, call := range map[string]func(){
			"Scope.Go":    func() { kept.Go(forever) },
			"Go":          func() { rondo.Go(kept, forever) },
			"Scope.Start": func() { _ = kept.Start(ctx, func(context.Context, func()) error { return nil }) },
		} {
			if text := panicOf(call); text != "rondo: Go in a scope that has ended" {
				t.Errorf("%s: %q", name, text)
			}
		}
	})
}

func TestC100GroupNeedsALoop(t *testing.T) {
	err := rondo.Group(context.Background(), func(*rondo.Scope) error { panic("ran") })
	if !errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("Group returned %v", err)
	}
}

func TestC101Hydra(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		heads := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			var grow func(depth int) func(ctx context.Context) error
			grow = func(depth int) func(ctx context.Context) error {
				return func(ctx context.Context) error {
					heads++
					if depth > 0 {
						g.Go(grow(depth - 1))
						g.Go(grow(depth - 1))
					}
					return rondo.Yield(ctx)
				}
			}
			g.Go(grow(4))
			return nil
		})
		if err != nil || heads != 31 {
			t.Errorf("Group returned %v with %d of 31 heads", err, heads)
		}
	})
}

func TestC103EarlyReturnOfBodyCancelsNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(sleeper(time.Second, nil, &cut)); return nil })
		if err != nil || cut {
			t.Error(err, cut)
		}
	})
}

func TestC104ScopeCancelIsNoError(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cut := false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(sleeper(time.Hour, nil, &cut))
			g.Cancel(nil)
			g.Cancel(errBroken)
			return forever(g)
		})
		if err != nil || !cut {
			t.Error(err, cut)
		}
	})
}

// Errors are joined, not nested in groups: errors.Is finds each.
func TestC106InnerGroupFails(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		other := errors.New("other")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			return rondo.Group(g, func(g *rondo.Scope) error {
				g.Go(func(context.Context) error { return errBroken })
				_ = forever(g)
				return other
			})
		})
		if !errors.Is(err, errBroken) || !errors.Is(err, other) || fmt.Sprint(err) != "broken\nother" {
			t.Errorf("Group returned %q", err)
		}
	})
}

func TestC107OneCancelledChild(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		one, other := false, false
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			task := g.Go(sleeper(time.Hour, nil, &one))
			g.Go(sleeper(time.Second, nil, &other))
			_ = rondo.Yield(g)
			task.Cancel(errors.New("not needed"))
			return nil
		})
		if err != nil || !one || other {
			t.Error(err, one, other)
		}
	})
}

func TestC222CancelledBeforeItBegins(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		ran, first := false, error(nil)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			g.Go(func(ctx context.Context) error { ran = true; first = rondo.Yield(ctx); return first })
			return nil
		})
		if !ran || first != errBroken || err != errBroken {
			t.Error(ran, first, err)
		}
	})
}

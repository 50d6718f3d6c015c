package kerneltest

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

// TestEchoIsTakenOffWhatIsJoined: a cancelled task that reports the cause beside
// a failure of its clean-up is heard, whatever way it joins the two.
func TestEchoIsTakenOffWhatIsJoined(t *testing.T) {
	errStop := errors.New("stop")
	for name, c := range map[string]struct {
		with func(cause error) error
		want string
	}{
		"cause":       {func(cause error) error { return cause }, "stop"},
		"wrapped":     {func(cause error) error { return fmt.Errorf("reading: %w", cause) }, "stop"},
		"standard":    {func(error) error { return context.Canceled }, "stop"},
		"all echoes":  {func(cause error) error { return errors.Join(cause, fmt.Errorf("again: %w", cause)) }, "stop"},
		"joined":      {func(cause error) error { return errors.Join(cause, errBroken) }, "broken\nstop"},
		"deep":        {func(cause error) error { return errors.Join(errors.Join(errBroken, cause), cause) }, "broken\nstop"},
		"two":         {func(cause error) error { return errors.Join(errBroken, cause, errBroken) }, "broken\nbroken\nstop"},
		"in one text": {func(cause error) error { return fmt.Errorf("%w while %w", errBroken, cause) }, "broken while stop\nstop"},
		"around":      {func(cause error) error { return fmt.Errorf("late: %w", errors.Join(errBroken, cause)) }, "late: broken\nstop\nstop"},
	} {
		sim.Test(t, func(ctx context.Context) {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { return c.with(forever(ctx)) })
				_ = rondo.Yield(g)
				g.Cancel(errStop)
				return nil
			})
			if fmt.Sprint(err) != c.want {
				t.Errorf("%s: Group returned %q, want %q", name, fmt.Sprint(err), c.want)
			}
		})
	}
}

// TestCleanUpErrorsPassNestedGroups: the failure of a clean-up in an inner group
// reaches the outer one that was cancelled.
func TestCleanUpErrorsPassNestedGroups(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		errFirst := errors.New("first")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for range 3 {
						g.Go(func(ctx context.Context) error { _ = forever(ctx); return errBroken })
					}
					return forever(g)
				})
			})
			_ = rondo.Sleep(g, time.Second)
			return errFirst
		})
		if got, want := fmt.Sprint(err), "first\nbroken\nbroken\nbroken"; got != want {
			t.Errorf("the outer Group returned %q, want %q", got, want)
		}
	})
}

// TestPanicIsNoEcho: a task that panics with the error of its cancelled wait has
// a fault of its own.
func TestPanicIsNoEcho(t *testing.T) {
	err := (&rondo.Runner{Recover: true}).Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error { panic(forever(ctx)) })
			}
			_ = rondo.Yield(g)
			return errBroken
		})
	})
	if n := strings.Count(fmt.Sprint(err), "rondo: panic in"); n != 2 || !errors.Is(err, errBroken) {
		t.Errorf("%d of 2 panics were heard of: %v", n, err)
	}
}

// TestPanicOfBodyLosesNoErrors: what the tasks of a scope failed with goes to
// the scope around it if the panic of its body leaves nothing to return, and to
// OnError if there is none around.
func TestPanicOfBodyLosesNoErrors(t *testing.T) {
	panics := func(ctx context.Context) {
		defer func() {
			if v := recover(); v != "oops" {
				t.Errorf("recovered %v", v)
			}
		}()
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error { return errBroken })
			_ = rondo.Yield(g)
			panic("oops")
		})
	}
	var unheard error
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { unheard = err }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error { panics(g); return nil })
		if err != errBroken || unheard != nil {
			t.Errorf("the group around it returned %v, OnError got %v", err, unheard)
		}
		panics(ctx)
		return nil
	})
	if err != nil || unheard != errBroken {
		t.Errorf("Run returned %v, OnError got %v", err, unheard)
	}
}

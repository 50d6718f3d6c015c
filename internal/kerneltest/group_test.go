package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestSiblingsAddedWhileTheScopeEnds: they are cancelled from the start, waited
// for, and what they fail with is kept.
func TestSiblingsAddedWhileTheScopeEnds(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		errLate := errors.New("late")
		started, ended := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				_ = forever(ctx)
				started++
				g.Go(func(ctx context.Context) error {
					defer func() { ended++ }()
					if err := rondo.Yield(ctx); err != errBroken {
						t.Errorf("a wait of the late sibling returned %v", err)
					}
					return errLate
				})
				return nil
			})
			g.Go(func(context.Context) error { return errBroken })
			return nil
		})
		if got := fmt.Sprint(err); got != "broken\nlate" || started != 1 || ended != 1 {
			t.Errorf("Group returned %q; %d started, %d ended", got, started, ended)
		}
	})
}

// TestManyFailAtOnce: in every order each of the errors is there once.
func TestManyFailAtOnce(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 4 {
				g.Go(func(context.Context) error { return fmt.Errorf("error %d", i) })
			}
			return forever(g)
		})
		lines := strings.Split(fmt.Sprint(err), "\n")
		slices.Sort(lines)
		if !slices.Equal(lines, []string{"error 0", "error 1", "error 2", "error 3"}) {
			t.Errorf("Group returned %q", lines)
		}
	})
}

package kerneltest_test

import (
	"bytes"
	"context"
	"regexp"
	"runtime/pprof"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestProfileLabels: a goroutine has the labels of the task that it runs, also one that
// has run others before; without ProfileLabels there are none.
func TestProfileLabels(t *testing.T) {
	for _, on := range []bool{true, false} {
		r := rondo.Runner{Name: "labelled", ProfileLabels: on}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			for range 2 { // the second time its goroutine is another task's
				if err := rondo.Go(ctx, brief).Wait(ctx); err != nil {
					return err
				}
			}
			if got := labelsOf(t); slices.Contains(got, "brief") {
				t.Errorf("the labels of a task that has ended are left: %q", got)
			}
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(labelledA)
				g.Go(labelledB)
				g.Go(labelledB)
				rondo.Async(g, labelledAsync)
				for range 3 {
					if err := rondo.Yield(g); err != nil {
						return err
					}
				}
				got := labelsOf(t)
				want := []string{"TestProfileLabels.func1", "labelledA", "labelledAsync", "labelledB"}
				if !on {
					want = nil
				}
				if !slices.Equal(got, want) {
					t.Errorf("with ProfileLabels %v the goroutines have the labels %q, want %q", on, got, want)
				}
				g.Cancel(nil)
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	}
	if got := labelsOf(t); got != nil {
		t.Errorf("labels are left: %q", got)
	}
}

func brief(ctx context.Context) error                { return rondo.Yield(ctx) }
func labelledA(ctx context.Context) error            { return forever(ctx) }
func labelledB(ctx context.Context) error            { return forever(ctx) }
func labelledAsync(ctx context.Context) (int, error) { return 0, forever(ctx) }

var label = regexp.MustCompile(`# labels: \{"loop":"labelled", "task":"github.com/rondo-go/rondo/internal/kerneltest_test\.([^"]*)"\}`)

// labelsOf returns the functions in the labels of all goroutines, each once, in their
// order.
func labelsOf(t *testing.T) (functions []string) {
	t.Helper()
	var out bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
		t.Fatal(err)
	}
	for _, m := range label.FindAllStringSubmatch(out.String(), -1) {
		functions = append(functions, m[1])
	}
	slices.Sort(functions)
	return slices.Compact(functions)
}

package sim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestStopsAtFirstFailure: what fails the test first ends the run, and the report says when that
// was and in which task. What it does after that is no failure of its own. With KeepGoing it ends
// as if nothing had been.
func TestStopsAtFirstFailure(t *testing.T) {
	later := false
	body := func(t *tester) func(ctx context.Context) {
		return func(ctx context.Context) {
			later = false
			rondo.Go(ctx, func(ctx context.Context) error {
				if err := rondo.Sleep(ctx, time.Minute); err != nil {
					return err
				}
				t.Error("so it is")
				return rondo.Yield(ctx)
			}).SetName("culprit")
			if err := rondo.Sleep(ctx, time.Hour); err != nil {
				sim.Always(ctx, false, "a consequence")
			}
			later = true
		}
	}
	for _, run := range []func(c sim.Config, t *tester){
		func(c sim.Config, t *tester) { c.Test(t, body(t)) },
		func(c sim.Config, t *tester) { c.Explore(t, body(t)) },
	} {
		text := failing(t, func(t *tester) { run(sim.Config{}, t) })
		contains(t, text, "so it is", "the test failed\n\tafter 1m0s of virtual time, ", ", in culprit\n")
		if later || strings.Contains(text, "a consequence") {
			t.Errorf("it went on for an hour, or has failed twice:\n%s", text)
		}
		text = failing(t, func(t *tester) { run(sim.Config{KeepGoing: true}, t) })
		if contains(t, text, "the test failed\n\tafter 1m0s of virtual time, ", ", in culprit\n"); !later {
			t.Error("with KeepGoing it does not come to its end")
		}
	}
}

// TestClusterStopsAtFirstFailure: the report names the host, too.
func TestClusterStopsAtFirstFailure(t *testing.T) {
	later := false
	run := func(c sim.Config) string {
		later = false
		return failing(t, func(t *tester) {
			c.Cluster(t, func(ctx context.Context, w *sim.World) {
				w.Host("a", func(ctx context.Context) error {
					rondo.Go(ctx, func(ctx context.Context) error {
						_ = rondo.Sleep(ctx, time.Minute)
						t.Error("so it is")
						return rondo.Yield(ctx)
					}).SetName("culprit")
					return rondo.Sleep(ctx, 30*time.Minute)
				})
				if rondo.Sleep(ctx, time.Hour) == nil {
					later = true
				}
			})
		})
	}
	const want = "the test failed\n\tafter 1m0s of virtual time, "
	if contains(t, run(sim.Config{Exact: true}), want, ", in culprit of a\n"); later {
		t.Error("it went on for an hour")
	}
	if contains(t, run(sim.Config{Exact: true, KeepGoing: true}), want, ", in culprit of a\n"); !later {
		t.Error("with KeepGoing it does not come to its end")
	}
}

// TestPanicAfterFailure: a panic in the step that has failed the test is reported.
func TestPanicAfterFailure(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) {
		t.Error("so it is")
		panic("and so")
	}, "so it is", "panic in main: and so")
}

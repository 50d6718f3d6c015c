//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// TestSelect: each case of a Select is shown, and in a large one the first.
func TestSelect(t *testing.T) {
	onLoop(t, "selecting", func(ctx context.Context) error {
		jobs, stop := rondo.NewQueue[int](0), rondo.Event{Name: "stop"}
		jobs.Name = "jobs"
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			other := g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
			other.SetName("other")
			wait := func(cases ...rondo.Case) func(ctx context.Context) error {
				return func(ctx context.Context) error { _, err := rondo.Select(ctx, cases...); return err }
			}
			g.Go(wait(jobs.GetCase(new(int)), rondo.Case{}, stop.WaitCase(), other.WaitCase(), rondo.After(time.Hour))).SetName("few")
			many := make([]rondo.Case, 20)
			for i := range many {
				many[i] = stop.WaitCase()
			}
			g.Go(wait(many...)).SetName("many")
			g.Go(wait(many[:8]...)).SetName("eight")
			g.Go(wait()).SetName("none")
			// Only where all cases are known, and each needs a task, is it said which tasks can end
			// the wait.
			next := g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
			g.Go(wait(next.WaitCase(), rondo.Case{}, other.WaitCase())).SetName("tasks")
			g.Go(wait(slices.Repeat([]rondo.Case{other.WaitCase()}, 8)...)).SetName("eight tasks")
			g.Go(wait(slices.Repeat([]rondo.Case{other.WaitCase()}, 9)...)).SetName("nine tasks")
			g.Go(wait(other.WaitCase(), rondo.After(time.Hour))).SetName("a task for an hour")
			g.Go(wait(rondo.After(time.Hour), other.WaitCase())).SetName("an hour or a task")
			g.Go(wait(other.WaitCase(), stop.WaitCase())).SetName("a task or an event")
			l := look(g, t, "selecting")
			for name, want := range map[string]string{
				"few":  `select of 5: get "jobs", event "stop", task #2 other, sleep `,
				"many": `select of 20: event "stop", event "stop", `,
				"none": `select of 0: `,
			} {
				if got := task(t, l, name).Waiting; !strings.HasPrefix(got, want) {
					t.Errorf("%s waits for %s, want %s", name, got, want)
				}
			}
			for name, want := range map[string][]uint64{
				"tasks": {next.ID(), other.ID()}, "eight tasks": slices.Repeat([]uint64{other.ID()}, 8),
				"nine tasks": nil, "a task for an hour": nil, "an hour or a task": nil, "a task or an event": nil, "few": nil, "none": nil,
			} {
				if got := task(t, l, name).Any; !slices.Equal(got, want) {
					t.Errorf("the wait of %s can end by tasks %v, want %v", name, got, want)
				}
			}
			if got, want := task(t, l, "eight").Waiting, "select of 8: "+strings.Repeat(`event "stop", `, 7)+`event "stop"`; got != want {
				t.Errorf("eight waits for %s, want %s", got, want)
			}
			if got := task(t, l, "many").Waiting; !strings.HasSuffix(got, "...") || len(got) > 150 {
				t.Errorf("many waits for %s", got)
			}
			var text strings.Builder
			p, err := rondo.Offload(g, func(context.Context) (*inspect.Program, error) { return inspect.Snapshot() })
			if err != nil {
				return err
			}
			if err := p.WriteTree(&text, inspect.TreeOptions{}); err != nil || !strings.Contains(text.String(), `for select of 5: get "jobs"`) {
				t.Errorf("the tree is (%v)\n%s", err, text.String())
			}
			g.Cancel(nil)
			return nil
		})
	})
}

package sim

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/picture"
)

// pictured runs body with a seed, and draws it.
func pictured(t *testing.T, seed uint64, body func(ctx context.Context)) *picture.Picture {
	t.Helper()
	a := newSeries(t).NewRun(choice.New(seed))
	a.Tell()
	newWorld(&attempt{Run: a}).execute(body)
	return a.Account.Draw("a test", "</script>", "RONDO_SEED=7")
}

// TestDraw: a picture has a column for each task, an arrow for each wake-up, the stack of
// each wait, and what was chosen.
func TestDraw(t *testing.T) {
	p := pictured(t, 1, func(ctx context.Context) {
		var e rondo.Event
		tasks(ctx, func(ctx context.Context) { _ = e.Wait(ctx) }, func(ctx context.Context) {
			_ = rondo.Sleep(ctx, time.Second)
			e.Set()
		})
		for Choose(ctx, 100) == 0 {
		}
	})
	if len(p.Columns) != 3 || p.Columns[0].Name != "main" {
		t.Error(p.Columns)
	}
	arrow, stack, choice := false, false, false
	for _, r := range p.Rows {
		arrow = arrow || r.Kind == "wake" && r.From >= 0 && p.Rows[r.From].Column == r.Source && strings.HasSuffix(r.Text, "by task-3")
		stack = stack || r.Text == "waits for event" && strings.HasPrefix(r.Detail, "github.com/rondo-go/rondo/sim.TestDraw.")
		choice = choice || r.Kind == "choice" && strings.Contains(r.Text, "Choose returned ") && r.At == "1s"
	}
	if !arrow || !stack || !choice {
		t.Error("arrow", arrow, "stack", stack, "choice", choice)
	}
	page, err := p.HTML()
	if err != nil || strings.Contains(string(page), "/*data*/") || strings.Count(string(page), "</script>") != 1 {
		t.Error("a page that is not complete, or that its data can end:", err)
	}
	text, err := p.Chrome()
	var trace struct {
		TraceEvents []map[string]any `json:"traceEvents"`
	}
	if err == nil {
		err = json.Unmarshal(text, &trace)
	}
	slices := map[any]any{}
	for _, e := range trace.TraceEvents {
		if e["ph"] == "X" {
			slices[e["name"]] = e["dur"]
		}
	}
	if err != nil || slices["waits for sleep"] != 1e6 || slices["waits for event"] != 1e6 {
		t.Error(err, slices)
	}
}

// TestDrawTheEnd: of a long run the end is drawn.
func TestDrawTheEnd(t *testing.T) {
	p := pictured(t, 1, func(ctx context.Context) {
		tasks(ctx, func(ctx context.Context) { yields(ctx, 3000) }, func(ctx context.Context) { yields(ctx, 3000) })
	})
	if p.Left == 0 || len(p.Rows) == 0 || len(p.Rows) > picture.DrawnMax+len(p.Choices)+20_000 || p.Rows[len(p.Rows)-1].Text != "ends" {
		t.Error(p.Left, len(p.Rows))
	}
}

package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/picture"
)

// pictured runs body with a seed, and draws it.
func pictured(t *testing.T, seed uint64, body func(ctx context.Context)) *picture.Picture {
	t.Helper()
	return drawn(t, seed, func(a *attempt) { newLoopWorld(a).execute(body) })
}

// drawn draws what execute runs.
func drawn(t *testing.T, seed uint64, execute func(a *attempt)) *picture.Picture {
	t.Helper()
	a := newSeries(t).NewRun(choice.New(seed))
	a.Tell()
	driver.Compared.Add(1)
	defer driver.Compared.Add(-1)
	execute(&attempt{Run: a})
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

// TestDrawTasks: a picture has an arrow from a task to each one that it starts, and says which have
// ended with an error. One that panics has failed the run.
func TestDrawTasks(t *testing.T) {
	p := pictured(t, 1, func(ctx context.Context) {
		for _, c := range []struct {
			name string
			fn   func(ctx context.Context) error
		}{
			{"good", func(context.Context) error { return nil }},
			{"bad", func(context.Context) error { return errors.New("bad") }},
			{"worse", func(context.Context) error { panic("worse") }},
		} {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(c.fn).SetName(c.name)
				return nil
			})
		}
	})
	name := func(column int) string { return p.Columns[column].Name }
	var got []string
	for _, r := range p.Rows {
		switch {
		case r.Kind == "start" && r.From >= 0:
			got = append(got, name(r.Column)+" starts, from "+name(r.Source))
		case r.Kind == "end", r.Kind == "failure":
			got = append(got, name(r.Column)+" "+strings.TrimSuffix(r.Text, ": "+p.Failure))
		}
	}
	want := []string{
		"good starts, from main", "good ends",
		"bad starts, from main", "bad ends with an error",
		"worse starts, from main", "worse ends with an error", "worse FAILS",
		"main ends",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
}

// TestDrawHosts: in a picture of a cluster that host fails whose task ran last.
func TestDrawHosts(t *testing.T) {
	p := drawn(t, 1, func(a *attempt) {
		newCluster(a, Config{}).execute(func(ctx context.Context, w *World) {
			broken := false
			w.Invariant("whole", func() error {
				if broken {
					return errors.New("broken")
				}
				return nil
			})
			w.Host("culprit", func(ctx context.Context) error {
				err := rondo.Sleep(ctx, time.Second)
				broken = true
				return err
			})
			_ = rondo.Sleep(ctx, time.Minute)
		})
	})
	i := slices.IndexFunc(p.Rows, func(r picture.Row) bool { return r.Kind == "failure" })
	if i < 0 || p.Columns[p.Rows[i].Column].Name != "culprit" || p.Rows[i].At != "1s" {
		t.Error(p.Rows[max(0, i)], p.Columns)
	}
}

// TestDrawFaults: a picture has a row for what cuts a host off and one for the end of that, whether
// the test does it or the seed.
func TestDrawFaults(t *testing.T) {
	faults := func(seed uint64, c Config, body func(ctx context.Context, w *World, a *Host)) (all []string) {
		p := drawn(t, seed, func(a *attempt) {
			newCluster(a, c).execute(func(ctx context.Context, w *World) {
				w.Host("b", rondo.WaitCanceled)
				body(ctx, w, w.Host("a", rondo.WaitCanceled))
			})
		})
		for _, r := range p.Rows {
			if r.Kind == "fault" {
				all = append(all, p.Columns[r.Column].Name+": "+r.Text+" at "+r.At)
			}
		}
		return all
	}
	got := faults(1, Config{}, func(ctx context.Context, w *World, a *Host) {
		w.Partition([]*Host{a}, nil)
		_ = rondo.Sleep(ctx, time.Second)
		w.Heal()
	})
	if want := []string{"a: partition at 0s", "test: heal at 1s"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = nil
	for seed := range uint64(10) {
		got = append(got, faults(seed, Config{Faults: Faults{Partition: 1}}, func(ctx context.Context, w *World, a *Host) {
			_ = rondo.Sleep(ctx, time.Minute)
		})...)
	}
	for _, want := range []string{"a: partition at ", "b: partition at ", "a: heal at ", "b: heal at "} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// TestDrawDeadlock: a deadlock is drawn where it is found, before what the tasks do that it ends.
func TestDrawDeadlock(t *testing.T) {
	p := pictured(t, 1, func(ctx context.Context) { _ = new(rondo.Event).Wait(ctx) })
	var kinds []string
	for _, r := range p.Rows {
		kinds = append(kinds, r.Kind)
	}
	if want := []string{"start", "wait", "failure", "wake", "end"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
}

// TestDrawTheEnd: of a long run the end is drawn.
func TestDrawTheEnd(t *testing.T) {
	p := pictured(t, 1, func(ctx context.Context) {
		tasks(ctx, func(ctx context.Context) { yields(ctx, 3000) }, func(ctx context.Context) { yields(ctx, 3000) })
	})
	if p.Left == 0 || len(p.Rows) == 0 || len(p.Rows) > picture.DrawnMax+len(p.Choices)+20_000 || p.Rows[len(p.Rows)-1].Kind != "failure" {
		t.Error(p.Left, len(p.Rows))
	}
}

// A dial has words of its own.
type dial int

func (d dial) String() string { return fmt.Sprintf("<%d>", int(d)) }

// TestShow: a picture draws how state changes, and the last values before the failure are listed.
func TestShow(t *testing.T) {
	p := pictured(t, 1, func(ctx context.Context) {
		for _, d := range []dial{1, 2, 2} {
			Show(ctx, "dial", d)
			_ = rondo.Sleep(ctx, time.Second)
		}
		attemptOf(ctx).Account.Fails(1)
		Show(ctx, "dial", dial(3))
	})
	var states []string
	for _, r := range p.Rows {
		if r.Kind == "state" {
			states = append(states, r.At+" "+r.Text)
		}
	}
	if want := []string{"0s dial = <1>", "1s dial = <2>, was <1>", "3s dial = <3>, was <2>"}; !slices.Equal(states, want) {
		t.Errorf("%q", states)
	}
	if want := []string{"dial = <2>"}; !slices.Equal(p.State, want) {
		t.Errorf("%q at the failure", p.State)
	}
}

// TestDrawHistory: a picture draws when operations begin, and how they end.
func TestDrawHistory(t *testing.T) {
	p := pictured(t, 1, func(ctx context.Context) {
		var h History[string, int]
		h.Begin(ctx, "inc").End(7)
		h.Begin(ctx, "dec").Unknown()
	})
	var got []string
	for _, r := range p.Rows {
		if r.Kind == "ask" || r.Kind == "answer" {
			got = append(got, r.Text)
		}
	}
	if want := []string{"asks inc", "asked inc and gets 7", "asks dec", "asked dec and gets no answer"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A secret may not be formatted.
type secret struct{ t *testing.T }

func (s secret) String() string {
	s.t.Error("it is formatted")
	return ""
}

// TestShowCostsNothing: nothing is formatted where no failure is drawn, and a run is the same with
// and without it.
func TestShowCostsNothing(t *testing.T) {
	Show(t.Context(), "outside", secret{t})
	Test(t, func(ctx context.Context) {
		Show(ctx, "inside", secret{t})
		var h History[secret, secret]
		h.Begin(ctx, secret{t}).End(secret{t})
	})
	allocations := testing.AllocsPerRun(100, func() { Show(t.Context(), "outside", dial(7)) })
	if allocations > 1 { // of t.Context
		t.Error(allocations, "allocations")
	}
	shown := traced(t, choice.New(3), func(ctx context.Context) { Show(ctx, "n", 1); busy(ctx) })
	if plain := traced(t, choice.New(3), busy); plain.Hash != shown.Hash {
		t.Error("a run that shows something is another one")
	}
}

// TestDrawPath: the rows that matter are the choice, the failure, and the wake-ups from one to the
// other. The others are folded.
func TestDrawPath(t *testing.T) {
	p := pictured(t, 4, func(ctx context.Context) {
		var first, second rondo.Event
		tasks(ctx, func(ctx context.Context) { yields(ctx, 200) },
			func(ctx context.Context) {
				_ = rondo.Sleep(ctx, time.Second)
				for Choose(ctx, 100) == 0 {
				}
				first.Set()
			},
			func(ctx context.Context) { _ = first.Wait(ctx); second.Set() },
			func(ctx context.Context) { _ = second.Wait(ctx); attemptOf(ctx).Account.Fails(5) })
	})
	var kinds []string
	for _, r := range p.Rows {
		if r.Main && r.At == "1s" {
			kinds = append(kinds, r.Kind)
		}
	}
	if want := []string{"choice", "draw", "wake", "wake", "failure"}; !slices.Equal(kinds, want) {
		t.Errorf("%q matter", kinds)
	}
	if folded := slices.IndexFunc(p.Rows, func(r picture.Row) bool { return !r.Main }); folded < 0 {
		t.Error("nothing is folded")
	}
}

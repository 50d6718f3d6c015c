//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// TestBriefs: a loop whose tasks are read in short has all of them, the same conclusions, and only
// those tasks whole that others wait for, that wait for others, or that are asked for.
func TestBriefs(t *testing.T) {
	t.Parallel()
	target := open(t, start(t, plain.program(t), "waits"))
	whole := until(t, target, "all tasks wait", settled)
	target.Portions(2)
	asked := whole.Tasks[len(whole.Tasks)-1].ID
	p := shot(t, target, inspect.Options{BriefFrom: 1, StacksOf: []uint64{asked}, Times: time.Minute})
	l := p.Loops[0]
	if len(l.Briefs) != len(whole.Tasks) || !reflect.DeepEqual(l.Cycles, whole.Cycles) || len(l.Cycles) == 0 || l.Omitted != 0 || !l.Exact {
		t.Fatalf("%d briefs of %d tasks, %d left out, exact %v; the cycles are %v, want %v", len(l.Briefs), len(whole.Tasks), l.Omitted, l.Exact, l.Cycles, whole.Cycles)
	}
	for i, k := range whole.Tasks {
		got, want := l.Briefs[i], k.Brief()
		got.Age, got.Since, got.Doing, want.Age, want.Since, want.Doing = 0, 0, "", 0, 0, ""
		if got != want {
			t.Errorf("in short it is %+v, want %+v", got, want)
		}
	}
	for _, k := range l.Tasks {
		if k.ID == asked && len(k.Stack) == 0 {
			t.Error("the task that was asked for has no stack")
		}
		if k.What == "sleep" && len(k.Scopes) == 0 && k.ID != asked {
			t.Errorf("#%d %s, which sleeps, was read whole", k.ID, k.Name)
		}
	}
	if last := l.Tasks[len(l.Tasks)-1]; last.ID != asked {
		t.Errorf("the last task is %d, want the one that was asked for, %d", last.ID, asked)
	}
	for _, times := range l.Times[:min(1, len(l.Times))] {
		if w := times.Worst; w != nil && w.Task == "(unknown)" {
			t.Error("the tasks of the flight record have no names")
		}
	}
	if l := shot(t, target, inspect.Options{BriefFrom: 1000}).Loops[0]; l.Briefs != nil || len(l.Tasks) != len(whole.Tasks) {
		t.Errorf("a loop with fewer tasks: %d briefs, %d tasks", len(l.Briefs), len(l.Tasks))
	}
}

// TestBriefsAtLimit: a task that goes on makes room in its scope for one that may not begin yet, so
// those that wait for that one are in no cycle, also if the first is read in short.
func TestBriefsAtLimit(t *testing.T) {
	target := openPID(t, os.Getpid())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		r := rondo.Runner{Name: "limited"}
		ended <- r.Run(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.SetLimit(2)
				g.Go(func(ctx context.Context) error {
					return rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
				})
				var later *rondo.Task
				g.Go(func(ctx context.Context) error { return later.Wait(ctx) })
				later = g.Go(func(ctx context.Context) error { return nil })
				return nil
			})
		})
	}()
	until(t, target, "one sleeps, one waits for the third, which may not begin", func(l *inspect.Loop) bool {
		return l.Exact && len(l.Tasks) == 4 && l.Tasks[1].What == "sleep" && l.Tasks[2].What == "task" && l.Tasks[3].What == "limit"
	})
	p, err := target.Snapshot(inspect.Options{BriefFrom: 1})
	if err != nil || len(p.Loops[0].Briefs) != 4 || len(p.Loops[0].Tasks) != 3 || len(p.Loops[0].Cycles) != 0 {
		t.Errorf("%v, %+v; want 4 briefs, 3 tasks, and no cycle", err, p.Loops[0])
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// record returns a Tracer that adds a line for each call to lines.
func record(lines *[]string) *rondo.Tracer {
	say := func(format string, args ...any) { *lines = append(*lines, fmt.Sprintf(format, args...)) }
	return &rondo.Tracer{
		Started: func(t *rondo.Task, at time.Time) { say("%s started", t.Name()) },
		Stepped: func(t *rondo.Task, at time.Time) { say("%s steps", t.Name()) },
		Parked: func(t *rondo.Task, why rondo.Reason, at time.Time) {
			say("%s waits: %s %d", t.Name(), why.What, why.On)
		},
		Woken: func(t, by *rondo.Task, at time.Time) {
			if by == nil {
				say("%s woken", t.Name())
				return
			}
			say("%s woken by %s", t.Name(), by.Name())
		},
		Ended:  func(t *rondo.Task, err error, at time.Time) { say("%s ended: %v", t.Name(), err) },
		Called: func(from, to time.Time) { say("callback") },
	}
}

// TestTracer: a Tracer is called for each event in the life of a task, in order.
func TestTracer(t *testing.T) {
	var got []string
	r := rondo.Runner{Tracer: record(&got)}
	failed := errors.New("failed")
	err := r.Run(t.Context(), func(ctx context.Context) error {
		var e rondo.Event
		child := rondo.Go(ctx, func(ctx context.Context) error {
			if err := e.Wait(ctx); err != nil {
				return err
			}
			return failed
		})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		e.Set()
		if err := child.Wait(ctx); err != failed {
			t.Errorf("Wait: %v", err)
		}
		rondo.LoopOf(ctx).CallSoon(func() {})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		return rondo.Sleep(ctx, time.Millisecond)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `main started
main steps
task-2 started
main waits: yield 0
task-2 steps
task-2 waits: event 0
main steps
task-2 woken by main
main waits: task 2
task-2 steps
task-2 ended: failed
main woken by task-2
main steps
main waits: yield 0
callback
main steps
main waits: sleep 0
main woken
main steps
main ended: <nil>`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("the Tracer got\n%s\nwant\n%s", s, want)
	}
}

// TestTracerOfTheEnd: a task that is cut short by the end of main is woken by Run, also if Debug
// has reported it before.
func TestTracerOfTheEnd(t *testing.T) {
	for _, debug := range []bool{false, true} {
		var got []string
		r := rondo.Runner{Debug: debug, Tracer: record(&got), OnError: func(rondo.TaskInfo, error) {}}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			rondo.Go(ctx, forever)
			return rondo.Yield(ctx)
		})
		if err != nil || !slices.Contains(got, "task-2 woken by Run") {
			t.Errorf("Debug %v: Run returned %v; the Tracer got\n%s", debug, err, strings.Join(got, "\n"))
		}
	}
}

// TestTracerOfManySteps: however often tasks take turns, no step begins before the end of the last
// one was traced, and none ends that has not begun.
func TestTracerOfManySteps(t *testing.T) {
	var got []string
	r := rondo.Runner{Tracer: record(&got)}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) (err error) {
					for i := 0; i < 200 && err == nil; i++ {
						err = rondo.Yield(ctx)
					}
					return err
				})
			}
			return nil
		})
	})
	running, steps := "", 0
	for i, line := range got {
		task, event, _ := strings.Cut(line, " ")
		what, _, _ := strings.Cut(event, ":")
		switch what {
		case "steps":
			if steps++; running != "" {
				t.Fatalf("line %d is %q while %s runs", i, line, running)
			}
			running = task
		case "waits", "ended":
			if running != task {
				t.Fatalf("line %d is %q while %s runs", i, line, running)
			}
			running = ""
		}
	}
	if err != nil || steps < 600 {
		t.Errorf("Run returned %v, after %d steps", err, steps)
	}
}

// TestTracerOfPull: the task of a Pull and the one in next take turns, also at the end.
func TestTracerOfPull(t *testing.T) {
	var got []string
	r := rondo.Runner{Tracer: record(&got)}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		next, _ := rondo.Pull(ctx, slices.Values([]int{1}))
		next()
		next()
		return nil
	})
	want := `main started
main steps
task-2 started
main waits: next 2
task-2 steps
main woken by task-2
task-2 waits: pull 0
main steps
task-2 woken by main
main waits: next 2
task-2 steps
main woken by task-2
task-2 ended: <nil>
main steps
main ended: <nil>`
	s := strings.Join(got, "\n")
	s = strings.ReplaceAll(s, "main waits: yield 0\nmain steps\n", "") // on a slow machine next gives others a turn
	if s != want || err != nil {
		t.Errorf("Run returned %v, the Tracer got\n%s\nwant\n%s", err, s, want)
	}
}

// TestTracerMustNotWait: a wait in a hook of a Tracer panics, and the Tracer is
// not called for a task that a hook starts.
func TestTracerMustNotWait(t *testing.T) {
	var ctx context.Context
	for name, c := range map[string]struct {
		hook func()
		want string
	}{
		"wait":    {func() { _ = rondo.Yield(ctx) }, "callbacks must not wait"},
		"go":      {func() { rondo.Go(ctx, rondo.Check) }, ""},
		"current": {func() { _ = rondo.Current(ctx).Name() }, "nil pointer"},
	} {
		var reports []error
		started := 0
		r := rondo.Runner{
			Tracer: &rondo.Tracer{
				Started: func(*rondo.Task, time.Time) { started++ },
				Parked:  func(*rondo.Task, rondo.Reason, time.Time) { c.hook() },
			},
			OnError: func(about rondo.TaskInfo, err error) { reports = append(reports, err) },
		}
		err := r.Run(t.Context(), func(own context.Context) error {
			ctx = own
			return rondo.Sleep(own, time.Microsecond)
		})
		if err != nil || started != 1 {
			t.Errorf("%s: Run returned %v; Started was called %d times", name, err, started)
		}
		if c.want == "" && len(reports) > 0 || c.want != "" && (len(reports) != 1 || !strings.Contains(reports[0].Error(), c.want)) {
			t.Errorf("%s: OnError got %v", name, reports)
		}
	}
}

// TestTracerOfLimit: Started is called for each task, also in a scope with a limit.
func TestTracerOfLimit(t *testing.T) {
	var started []string
	r := rondo.Runner{Tracer: &rondo.Tracer{
		Started: func(t *rondo.Task, _ time.Time) { started = append(started, t.Name()) },
	}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(1)
			for range 3 {
				g.Go(rondo.Yield)
			}
			return nil
		})
	})
	if want := []string{"main", "task-2", "task-3", "task-4"}; err != nil || !slices.Equal(started, want) {
		t.Errorf("Run returned %v; Started was called for %q, want %q", err, started, want)
	}
}

// TestTracerGoexit: a hook of a Tracer that calls Goexit, as testing.T.FailNow
// does, ends Run as a task does.
func TestTracerGoexit(t *testing.T) {
	for name, tr := range map[string]*rondo.Tracer{
		"Stepped": {Stepped: func(t *rondo.Task, _ time.Time) { exitIf(t.ID() == 2) }},
		"Parked":  {Parked: func(t *rondo.Task, _ rondo.Reason, _ time.Time) { exitIf(t.ID() == 2) }},
		"Woken":   {Woken: func(t, _ *rondo.Task, _ time.Time) { exitIf(t.ID() == 2) }},
		"Ended":   {Ended: func(t *rondo.Task, _ error, _ time.Time) { exitIf(t.ID() == 2) }},
	} {
		returned := true
		done := make(chan bool)
		go func() {
			defer close(done)
			r := rondo.Runner{Tracer: tr}
			defer func() { returned = false }()
			_ = r.Run(context.Background(), func(ctx context.Context) error {
				t := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Microsecond) })
				return t.Wait(ctx)
			})
			t.Errorf("%s: Run returned", name)
		}()
		<-done
		if returned {
			t.Errorf("%s: the deferred calls did not run", name)
		}
	}
}

func exitIf(b bool) {
	if b {
		runtime.Goexit()
	}
}

// TestTracerAllocatesNothing: a Tracer whose hooks allocate nothing makes a step
// allocate nothing.
func TestTracerAllocatesNothing(t *testing.T) {
	calls := 0
	r := rondo.Runner{Tracer: &rondo.Tracer{
		Stepped: func(*rondo.Task, time.Time) { calls++ },
		Parked:  func(*rondo.Task, rondo.Reason, time.Time) { calls++ },
	}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		if n := testing.AllocsPerRun(100, func() { _ = rondo.Yield(ctx) }); n > 0 {
			t.Errorf("a step makes %v allocations", n)
		}
		return nil
	})
	if err != nil || calls < 200 {
		t.Errorf("Run returned %v; %d calls", err, calls)
	}
}

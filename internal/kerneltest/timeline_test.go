package kerneltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestTimeline: with RONDO_TRACE each Run of the process writes what its tasks do
// into one file, also beside a Tracer that panics. The file is complete when no loop runs.
func TestTimeline(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	t.Setenv("RONDO_TRACE", path)
	for name, tr := range map[string]*rondo.Tracer{
		"first":  nil,
		"second": {Stepped: brokenHook},
	} {
		r := rondo.Runner{Name: name, Tracer: tr, OnError: ignoreError}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			f := rondo.Async(ctx, func(ctx context.Context) (int, error) { return 1, rondo.Sleep(ctx, time.Millisecond) })
			_, err := f.Wait(ctx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Ph, Name string
		Args     map[string]any
	}
	if err := json.Unmarshal(text, &events); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	count := make(map[string]int)
	for _, e := range events {
		count[e.Ph]++
		if e.Ph == "M" {
			count[e.Name+" "+e.Args["name"].(string)]++
		}
		if why, ok := e.Args["waits for"].(string); ok {
			count["waits for "+why]++
		}
	}
	for what, n := range map[string]int{
		"B": 8, "E": 8, "s": 2, "f": 2, "process_name first": 1, "process_name second": 1, "thread_name main": 2,
		"thread_name task-2 kerneltest_test.TestTimeline.func1.1": 2, "waits for sleep": 2, "waits for future 2": 2,
	} {
		if count[what] != n {
			t.Errorf("%s is there %d times, want %d", what, count[what], n)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}

func brokenHook(*rondo.Task, time.Time) { panic("broken hook") }
func ignoreError(rondo.TaskInfo, error) {}

// TestTimelineUnwritable: Run fails, and does not run main, if it cannot write
// the file of RONDO_TRACE.
func TestTimelineUnwritable(t *testing.T) {
	t.Setenv("RONDO_TRACE", filepath.Join(t.TempDir(), "no", "where"))
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		t.Error("main ran")
		return nil
	})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "RONDO_TRACE") {
		t.Errorf("Run returned %v", err)
	}
}

// TestTimelineIncomplete: a write error of the file of RONDO_TRACE is reported to
// OnError, and the loop goes on.
func TestTimelineIncomplete(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("this system has no /dev/full")
		return
	}
	t.Setenv("RONDO_TRACE", "/dev/full")
	var reports []error
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reports = append(reports, err) }}
	if err := r.Run(t.Context(), func(ctx context.Context) error { return rondo.Yield(ctx) }); err != nil {
		t.Error(err)
	}
	if len(reports) != 1 || !strings.Contains(reports[0].Error(), "not complete") {
		t.Errorf("OnError got %v", reports)
	}
}

// TestExecutionTrace: with Debug, an execution trace has the tasks and what they
// wait for.
func TestExecutionTrace(t *testing.T) {
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	r := rondo.Runner{Debug: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		defer trace.StartRegion(ctx, "a region of the task's own").End()
		rondo.Current(ctx).SetName("renamed")
		child := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
		child.SetName("the child's name")
		return child.Wait(ctx)
	})
	trace.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"main", "TestExecutionTrace.func1.1", "the child's name", "waits for", "task 2", "sleep"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the trace lacks %q", want)
		}
	}
}

// TestExecutionTraceGroups: tasks of one function are of one type, which is what go tool
// trace groups by. Their names are in the trace, but not as a part of the type.
func TestExecutionTraceGroups(t *testing.T) {
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	r := rondo.Runner{Debug: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 5 {
				g.Go(grouped).SetName(fmt.Sprint("number-", i))
			}
			g.Go(grouped)
			return nil
		})
	})
	trace.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "kerneltest_test.grouped") || !strings.Contains(text, "number-4") || !strings.Contains(text, "task-7") ||
		strings.Contains(text, "task-7 ") {
		t.Error("the tasks are not of the type of their function, or have no names")
	}
}

func grouped(ctx context.Context) error { return rondo.Yield(ctx) }

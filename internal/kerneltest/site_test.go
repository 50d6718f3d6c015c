package kerneltest_test

// The places where tasks were started, and by which
// function.

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// here matches a place in this file.
var here = regexp.MustCompile(`site_test\.go:\d+$`)

// TestC074SlowStep: with Debug a step of 100 ms or more is logged, with the name
// of the task, the duration, and where the task was started.
func TestC074SlowStep(t *testing.T) {
	log := &logged{of: "task=slow", seen: make(chan bool, 1)}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(before)
	r := rondo.Runner{Debug: true, Name: "the loop"}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		slow := rondo.Go(ctx, func(ctx context.Context) error {
			<-log.seen
			return nil
		})
		slow.SetName("slow")
		return slow.Wait(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`loop="the loop" task=slow for=(\d{3,}ms|[\d.ms]+s) at="\S+TestC074SlowStep\.func1\.1 at \S+site_test\.go:\d+" started=\S+site_test\.go:\d+ `)
	if !want.MatchString(log.String()) || strings.Count(log.String(), "task=slow") != 1 {
		t.Errorf("logged %s", log)
	}
}

// TestC075TasksLeftAlive: with Debug each task that still runs when main returns
// is reported, with the place where it was started.
func TestC075TasksLeftAlive(t *testing.T) {
	left := func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }).SetName("sleeper")
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }).Cancel(nil)
		rondo.Go(ctx, func(ctx context.Context) error { return nil })
		return rondo.Yield(ctx)
	}
	reports, err := debugged(t, left)
	if err != nil {
		t.Error(err)
	}
	var names []string
	for _, r := range reports {
		names = append(names, r.about.Name+" "+r.about.State)
		if !errors.Is(r.err, rondo.ErrLeftBehind) || !here.MatchString(r.about.Site) {
			t.Errorf("%s, started at %s: %v", r.about.Name, r.about.Site, r.err)
		}
	}
	if got := strings.Join(names, ", "); got != "sleeper waiting" {
		t.Errorf("OnError got %s", got)
	}

	// Without OnError the report is in the log, and without Debug there is none.
	log := logs(func() { err = (&rondo.Runner{Debug: true}).Run(t.Context(), left) })
	if err != nil || !strings.Contains(log, "level=WARN") || !strings.Contains(log, "task=sleeper") || !strings.Contains(log, "site_test.go:") {
		t.Errorf("Run returned %v and logged %s", err, log)
	}
	if log = logs(func() { err = rondo.Run(t.Context(), left) }); err != nil || log != "" {
		t.Errorf("without Debug Run returned %v and logged %s", err, log)
	}

	// When main itself is cancelled there is no report: its tasks were to end.
	ctx, cancel := context.WithCancel(t.Context())
	r := rondo.Runner{Debug: true, OnError: func(about rondo.TaskInfo, err error) { t.Errorf("%s: %v", about.Name, err) }}
	err = r.Run(ctx, func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
		})
		cancel()
		return rondo.Sleep(ctx, time.Hour)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
}

// TestC058UnobservedErrorInDebug: with Debug the report says where the task was
// started.
func TestC058UnobservedErrorInDebug(t *testing.T) {
	failed := errors.New("failed")
	main := func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { return failed })
		return rondo.Yield(ctx)
	}
	reports, err := debugged(t, main)
	if err != nil || len(reports) != 1 || reports[0].err != failed || !here.MatchString(reports[0].about.Site) {
		t.Errorf("Run returned %v; OnError got %v", err, reports)
	}
	r := rondo.Runner{Debug: true, SlowStep: time.Hour}
	log := logs(func() { err = r.Run(t.Context(), main) })
	if strings.Count(log, "\n") != 1 || !strings.Contains(log, "started=") {
		t.Errorf("logged %s", log)
	}
}

// TestDebugNamesTheSite: with Debug a panic and a deadlock report say where the
// tasks were started.
func TestDebugNamesTheSite(t *testing.T) {
	defer func() {
		p, ok := recover().(*rondo.PanicError)
		if !ok || !here.MatchString(p.Site) || !strings.Contains(p.Error(), "panic in task-2 (started at "+p.Site+"): broken") {
			t.Errorf("recovered %v", p)
		}
	}()
	_, err := debugged(t, func(ctx context.Context) error {
		var e rondo.Event
		return rondo.Go(ctx, e.Wait).Wait(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) || !regexp.MustCompile(`task-2 waits for event, started at \S+site_test.go:\d+`).MatchString(err.Error()) {
		t.Errorf("Run returned %v", err)
	}
	_, err = debugged(t, func(ctx context.Context) error {
		return rondo.Go(ctx, func(ctx context.Context) error { panic("broken") }).Wait(ctx)
	})
	t.Errorf("Run returned %v", err)
}

// TestSiteOnlyInDebug: without Debug the place where a task was started is not
// noted.
func TestSiteOnlyInDebug(t *testing.T) {
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, rondo.Check)
		for _, i := range rondo.Tasks(ctx) {
			if i.Site != "" {
				t.Errorf("%s was started at %s", i.Name, i.Site)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFuncIsTheUsers: a task of Go, Async and Submit is described by the function
// that the caller gave.
func TestFuncIsTheUsers(t *testing.T) {
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l := rondo.LoopOf(ctx)
		started := []func(){
			func() { rondo.Go(ctx, namedPlain) },
			func() { rondo.Async(ctx, namedResult) },
			func() {
				f := rondo.Submit(l, namedResult)
				for f.Task() == nil {
					_ = rondo.Sleep(ctx, time.Microsecond)
				}
			},
		}
		for i, start := range started {
			start()
			tasks := rondo.Tasks(ctx)
			got := tasks[len(tasks)-1].Func
			if want := []string{"namedPlain", "namedResult", "namedResult"}[i]; got != "github.com/rondo-go/rondo/internal/kerneltest_test."+want {
				t.Errorf("case %d: the function is %s, want %s", i, got, want)
			}
			if err := rondo.Sleep(ctx, 2*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func namedPlain(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) }

func namedResult(ctx context.Context) (int, error) { return 1, rondo.Sleep(ctx, time.Millisecond) }

package rondo_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// A report is what OnError was told.
type report struct {
	about rondo.TaskInfo
	err   error
}

// debugged runs main with Debug and gives what was reported.
func debugged(t *testing.T, main func(ctx context.Context) error) (reports []report, err error) {
	t.Helper()
	r := rondo.Runner{Debug: true, SlowStep: time.Hour, OnError: func(about rondo.TaskInfo, err error) {
		reports = append(reports, report{about, err})
	}}
	err = r.Run(context.Background(), main)
	return reports, err
}

// logs collects what is logged while fn runs.
func logs(fn func()) string {
	log := &logged{}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(before)
	fn()
	return log.String()
}

// here tells whether a place is in this file.
var here = regexp.MustCompile(`debug_test\.go:\d+$`)

// outside runs fn on another goroutine while the loop stands still, and gives
// what it panicked with.
func outside(fn func()) (panicked any) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		fn()
	}()
	return <-done
}

// TestC043CallFromOutside: in Debug, a goroutine that touches what only the loop
// may touch is told so, and which call it was. Nothing has happened then.
func TestC043CallFromOutside(t *testing.T) {
	type objects struct {
		event rondo.Event
		mutex rondo.Mutex
		list  rondo.WaitList
		queue *rondo.Queue[int]
	}
	o := new(objects)
	for name, c := range map[string]struct {
		wait func(ctx context.Context) error
		call func()
		end  func()
	}{
		"Event.Set": {
			func(ctx context.Context) error { return o.event.Wait(ctx) },
			func() { o.event.Set() }, func() { o.event.Set() },
		},
		"Mutex.Unlock": {func(ctx context.Context) error {
			if err := o.mutex.Lock(ctx); err != nil {
				return err
			}
			o.mutex.Unlock()
			return nil
		}, func() { o.mutex.Unlock() }, func() { o.mutex.Unlock() }},
		"Queue.TryPut": {func(ctx context.Context) error {
			_, err := o.queue.Get(ctx)
			return err
		}, func() { o.queue.TryPut(1) }, func() { o.queue.TryPut(2) }},
		"WaitList.Wake": {func(ctx context.Context) error {
			return o.list.Park(ctx, rondo.Reason{What: "test"})
		}, func() { o.list.Wake() }, func() { o.list.Wake() }},
		"WaitList.WakeAll": {func(ctx context.Context) error {
			return o.list.Park(ctx, rondo.Reason{What: "test"})
		}, func() { o.list.WakeAll() }, func() { o.list.Wake() }},
	} {
		*o = objects{queue: rondo.NewQueue[int](0)}
		_, err := debugged(t, func(ctx context.Context) error {
			o.mutex.TryLock()
			waiter := rondo.Go(ctx, c.wait)
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			want := "rondo: " + name + " from a goroutine that is not a task of "
			if got := fmt.Sprint(outside(c.call)); !strings.HasPrefix(got, want) || !strings.Contains(got, "use Post") {
				t.Errorf("%s with a waiter: %s", name, got)
			}
			if waiter.Done() {
				t.Errorf("%s: the waiter went on", name)
			}
			if name == "Mutex.Unlock" || name == "Queue.TryPut" {
				// Half of the call was done before the list was touched.
				return nil
			}
			c.end()
			if err := waiter.Wait(ctx); err != nil {
				return err
			}
			// The list is empty, and still it is known whose it is.
			if got := fmt.Sprint(outside(c.call)); !strings.HasPrefix(got, want) {
				t.Errorf("%s without a waiter: %s", name, got)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := outside(func() { o.event.Set(); o.list.Wake(); o.queue.TryPut(1) }); got != nil {
			t.Errorf("%s after the loop's end: %v", name, got)
		}
	}
	// What nobody has waited for belongs to no loop.
	_, err := debugged(t, func(ctx context.Context) error {
		if got := outside(func() { new(rondo.Event).Set(); new(rondo.WaitList).Wake() }); got != nil {
			t.Errorf("a new Event: %v", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDebugReusesLists: what is noted of a list in Debug does not disturb it.
func TestDebugReusesLists(t *testing.T) {
	_, err := debugged(t, func(ctx context.Context) error {
		var list rondo.WaitList
		for range 3 {
			var order []int
			for i := range 3 {
				rondo.Go(ctx, func(ctx context.Context) error {
					if err := list.Park(ctx, rondo.Reason{What: "test"}); err != nil {
						return err
					}
					order = append(order, i)
					return nil
				})
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if n := list.Len(); n != 3 {
				t.Errorf("%d wait", n)
			}
			list.Wake()
			list.WakeAll()
			if list.Wake() || list.Len() != 0 {
				t.Error("somebody waits still")
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if fmt.Sprint(order) != "[0 1 2]" {
				t.Errorf("woken in the order %v", order)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestC074SlowStep: in Debug a step of 100 ms is reported, with the task's name,
// how long it has taken, and where the task was started.
func TestC074SlowStep(t *testing.T) {
	log := &logged{seen: make(chan bool, 1)}
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
	want := regexp.MustCompile(`loop="the loop" task=slow for=\d{3,}ms at="\S+TestC074SlowStep\.func1\.1 at \S+debug_test\.go:\d+" started=\S+debug_test\.go:\d+ `)
	if !want.MatchString(log.String()) || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("logged %s", log)
	}
}

// TestC075TasksLeftAlive: in Debug each task that the end of main cuts short is
// reported, with the place where it was started.
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
		t.Errorf("reported: %s", got)
	}

	// Without OnError it is in the log, and without Debug nowhere.
	log := logs(func() { err = (&rondo.Runner{Debug: true}).Run(t.Context(), left) })
	if err != nil || !strings.Contains(log, "level=WARN") || !strings.Contains(log, "task=sleeper") || !strings.Contains(log, "debug_test.go:") {
		t.Errorf("Run returned %v and logged %s", err, log)
	}
	if log = logs(func() { err = rondo.Run(t.Context(), left) }); err != nil || log != "" {
		t.Errorf("without Debug, Run returned %v and logged %s", err, log)
	}

	// A loop that is cancelled from outside, or by a fault, leaves nobody behind.
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
		t.Errorf("Run: %v", err)
	}
}

// TestC058UnheardErrorInDebug: says where its task was started.
func TestC058UnheardErrorInDebug(t *testing.T) {
	failed := errors.New("failed")
	main := func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { return failed })
		return rondo.Yield(ctx)
	}
	reports, err := debugged(t, main)
	if err != nil || len(reports) != 1 || reports[0].err != failed || !here.MatchString(reports[0].about.Site) {
		t.Errorf("Run returned %v, reported %v", err, reports)
	}
	log := logs(func() { err = (&rondo.Runner{Debug: true}).Run(t.Context(), main) })
	if strings.Count(log, "\n") != 1 || !strings.Contains(log, "started=") {
		t.Errorf("logged %s", log)
	}
}

// TestDebugNamesTheSite: a panic and a deadlock say where their tasks were
// started.
func TestDebugNamesTheSite(t *testing.T) {
	defer func() {
		p, ok := recover().(*rondo.PanicError)
		if !ok || !here.MatchString(p.Site) || !strings.Contains(p.Error(), "panic in task-2 (started at "+p.Site+"): broken") {
			t.Errorf("%v", p)
		}
	}()
	_, err := debugged(t, func(ctx context.Context) error {
		var e rondo.Event
		return rondo.Go(ctx, e.Wait).Wait(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) || !regexp.MustCompile(`task-2 waits for event, started at \S+debug_test.go:\d+`).MatchString(err.Error()) {
		t.Errorf("Run: %v", err)
	}
	_, err = debugged(t, func(ctx context.Context) error {
		return rondo.Go(ctx, func(ctx context.Context) error { panic("broken") }).Wait(ctx)
	})
	t.Errorf("Run returned %v", err)
}

// TestSiteOnlyInDebug: nothing is noted without it.
func TestSiteOnlyInDebug(t *testing.T) {
	run(t, func(ctx context.Context) error {
		rondo.Go(ctx, rondo.Check)
		for _, i := range rondo.Tasks(ctx) {
			if i.Site != "" {
				t.Errorf("%s was started at %s", i.Name, i.Site)
			}
		}
		return nil
	})
}

// TestLateEnd: a loop that a Shield keeps from ending says so, and who it is.
func TestLateEnd(t *testing.T) {
	for _, quick := range []bool{false, true} {
		log := &logged{seen: make(chan bool, 1)}
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
		r := rondo.Runner{SlowStep: 20 * time.Millisecond}
		if quick {
			r.SlowStep = time.Hour
			log.seen <- true
		}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				return rondo.Shield(ctx, func(ctx context.Context) error {
					_, err := rondo.Offload(ctx, func(context.Context) (bool, error) { return <-log.seen, nil })
					return err
				})
			}).SetName("shielded")
			return rondo.Yield(ctx)
		})
		slog.SetDefault(before)
		if err != nil {
			t.Error(err)
		}
		if text := log.String(); quick && text != "" || !quick && (!strings.Contains(text, "cannot end") || !strings.Contains(text, "shielded waits for offload")) {
			t.Errorf("quick: %v, logged %s", quick, text)
		}
	}
}

// TestFuncIsTheUsers: a task that Rondo wraps a function for is described by
// that function.
func TestFuncIsTheUsers(t *testing.T) {
	run(t, func(ctx context.Context) error {
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
			if want := []string{"namedPlain", "namedResult", "namedResult"}[i]; got != "github.com/rondo-go/rondo_test."+want {
				t.Errorf("case %d: %s, want %s", i, got, want)
			}
			if err := rondo.Sleep(ctx, 2*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	})
}

func namedPlain(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) }

func namedResult(ctx context.Context) (int, error) { return 1, rondo.Sleep(ctx, time.Millisecond) }

// TestDeadlockAtTheEnd: that the loop looks at how long its end takes does not
// keep it from seeing that it can never come.
func TestDeadlockAtTheEnd(t *testing.T) {
	r := rondo.Runner{SlowStep: time.Hour, OnError: func(rondo.TaskInfo, error) {}}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Shield(ctx, forever) })
		return rondo.Yield(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v", err)
	}
}

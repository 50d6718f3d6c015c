package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestUnobservedErrors: of many errors just those that no caller has taken are
// reported, in the order in which they came.
func TestUnobservedErrors(t *testing.T) {
	var reported []uint64
	r := rondo.Runner{OnError: func(i rondo.TaskInfo, err error) {
		reported = append(reported, i.ID)
		if !strings.Contains(i.Func, "TestUnobservedErrors") {
			t.Errorf("the report says that the task ran %q", i.Func)
		}
	}}
	var want []uint64
	var tasks []*rondo.Task
	err := r.Run(context.Background(), func(ctx context.Context) error {
		for range 300 {
			tasks = append(tasks, rondo.Go(ctx, func(context.Context) error { return errBroken }))
		}
		for !tasks[len(tasks)-1].Done() {
			_ = rondo.Yield(ctx)
		}
		for i, task := range tasks {
			if i%3 == 0 {
				want = append(want, task.ID())
			} else if err := tasks[len(tasks)-i].Err(); err != errBroken {
				t.Errorf("the error of task %d is %v", i, err)
			}
		}
		return nil
	})
	runtime.KeepAlive(tasks)
	if err != nil || !slices.Equal(reported, want) {
		t.Errorf("Run returned %v; tasks %v were reported, want %v", err, reported, want)
	}
}

// TestLogOfErrors: without OnError an error is in the log, with the function of its task; what was
// left behind is a warning. With OnError nothing is in the log.
func TestLogOfErrors(t *testing.T) {
	main := func(ctx context.Context) error {
		rondo.Go(ctx, breaks)
		kernel.Of(ctx).Notice("a server", errBroken)
		kernel.Of(ctx).Notice("a server", fmt.Errorf("%w: a client", rondo.ErrLeftBehind))
		return rondo.Sleep(ctx, time.Millisecond)
	}
	var err error
	log := logs(func() { err = rondo.Run(t.Context(), main) })
	lines := slices.Collect(strings.Lines(log))
	if err != nil || len(lines) != 3 {
		t.Fatalf("Run returned %v, the log has %s", err, log)
	}
	for i, want := range [][]string{{"level=ERROR", "broken", "a server"}, {"level=WARN", "a client"}, {"level=ERROR", "err=broken", "kerneltest_test.breaks "}} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d of the log is %s, want %q in it", i, lines[i], part)
			}
		}
	}
	reports := 0
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { reports++ }}
	if log := logs(func() { err = r.Run(t.Context(), main) }); err != nil || log != "" || reports != 3 {
		t.Errorf("Run returned %v, OnError was called %d times, and the log has %q", err, reports, log)
	}
}

func breaks(context.Context) error { return errBroken }

// TestOnErrorPanicsAtTheEnd: a panic of OnError at the end of the loop keeps nothing else from
// being reported. A wait in OnError panics.
func TestOnErrorPanicsAtTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		debug bool
		start func(ctx context.Context)
		want  []string
	}{
		"errors": {false, func(ctx context.Context) {
			rondo.Go(ctx, func(context.Context) error { return errBroken })
		}, []string{"task-2: broken", "task-3: broken"}},
		"tasks": {true, func(ctx context.Context) { rondo.Go(ctx, forever) }, []string{"task-2: alive", "task-3: alive"}},
	} {
		var reported []string
		var in context.Context
		r := rondo.Runner{Debug: test.debug, OnError: func(i rondo.TaskInfo, err error) {
			text := err.Error()
			if errors.Is(err, rondo.ErrLeftBehind) {
				text = "alive"
			}
			reported = append(reported, i.Name+": "+text)
			_ = rondo.Shield(in, func(ctx context.Context) error { return rondo.Sleep(ctx, 1) })
		}}
		log := logs(func() {
			err := r.Run(t.Context(), func(ctx context.Context) error {
				in = ctx
				test.start(ctx)
				test.start(ctx)
				return rondo.Yield(ctx)
			})
			if err != nil {
				t.Errorf("%s: Run returned %v", name, err)
			}
		})
		if strings.Count(log, "Shield in a callback") != len(test.want) {
			t.Errorf("%s: the log is %q", name, log)
		}
		if !slices.Equal(reported, test.want) {
			t.Errorf("%s: OnError got %q, want %q", name, reported, test.want)
		}
	}
}

// TestCancelledTaskIsNotLeftBehind: a task that was cancelled, and still cleans up, is none of
// those that the end of the main task cuts short. If all were cancelled, no task is, even one in a
// Shield.
func TestCancelledTaskIsNotLeftBehind(t *testing.T) {
	cleanUp := func(ctx context.Context) error {
		_ = forever(ctx)
		return lingering(ctx)
	}
	shielded := func(ctx context.Context) error {
		return rondo.Shield(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(lingering); return nil })
		})
	}
	for name, c := range map[string]struct {
		fn     func(ctx context.Context) error
		cancel func(task *rondo.Task, all func())
		want   error
	}{
		"one": {cleanUp, func(task *rondo.Task, _ func()) { task.Cancel(nil) }, nil},
		"all": {shielded, func(_ *rondo.Task, all func()) { all() }, context.Canceled},
	} {
		r := rondo.Runner{Debug: true, OnError: func(_ rondo.TaskInfo, err error) { t.Errorf("%s: %v", name, err) }}
		above, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := r.Run(above, func(ctx context.Context) error {
			task := rondo.Go(ctx, c.fn)
			for range 3 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			if c.cancel(task, cancel); c.want != nil {
				return forever(ctx)
			}
			return nil
		})
		if err != c.want {
			t.Errorf("%s: Run returned %v", name, err)
		}
	}
}

// TestAbandonedFunctionEndsLate: a function that was abandoned ends when that has been reported.
// One that was abandoned meanwhile is reported all the same.
func TestAbandonedFunctionEndsLate(t *testing.T) {
	ends := []chan bool{make(chan bool), make(chan bool)}
	abandon := func(ctx context.Context, fn func()) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			begun := make(chan bool)
			g.Go(func(ctx context.Context) error {
				return rondo.OffloadFunc(ctx, func(context.Context) error { close(begun); fn(); return nil })
			})
			_, _, err := rondo.Receive(g, begun)
			g.Cancel(nil)
			return err
		})
	}
	var in context.Context
	ended, left := false, 0
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) {
		if !errors.Is(err, rondo.ErrLeftBehind) {
			ended = true // the first one has panicked
			return
		}
		if left++; left > 1 {
			return
		}
		rondo.Go(in, func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error {
				_ = abandon(ctx, func() { <-ends[1] })
				for close(ends[0]); !ended; {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		in = ctx
		_ = abandon(ctx, func() { <-ends[0]; panic("late") })
		return nil
	})
	close(ends[1])
	if err != nil || !ended || left != 2 {
		t.Errorf("Run returned %v; the first function has ended: %v; %d are reported, want 2", err, ended, left)
	}
}

// TestErrorsBelowAScopeThatEnded: the errors of Groups whose bodies panic, because a scope around
// them has ended, are all reported.
func TestErrorsBelowAScopeThatEnded(t *testing.T) {
	for _, many := range []int{1, 20} {
		reported := 0
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) {
			if errors.Is(err, errBroken) {
				reported++
			}
		}}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(around *rondo.Scope) error {
				waiting := 0
				wait := func(ctx context.Context) { waiting++; _ = forever(ctx) }
				for range many {
					rondo.Go(ctx, func(context.Context) error {
						defer func() { _ = recover() }()
						return rondo.Group(around, func(g *rondo.Scope) error {
							g.Go(func(ctx context.Context) error { wait(ctx); return errBroken })
							wait(g)
							panic("oops")
						})
					})
				}
				until(ctx, func() bool { return waiting == 2*many })
				return nil
			})
		})
		if err != nil || reported != many {
			t.Errorf("Run returned %v; the errors of %d Groups are reported, want %d", err, reported, many)
		}
	}
}

// TestErrorOfCollectedTask: an error that no caller can take any more is reported
// while the loop goes on.
func TestErrorOfCollectedTask(t *testing.T) {
	var reported rondo.Event
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { reported.Set() }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(context.Context) error { return errBroken })
		for !reported.IsSet() {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			runtime.GC()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLateEnd: a loop whose end a Shield delays logs which task it waits for.
func TestLateEnd(t *testing.T) {
	for _, quick := range []bool{false, true} {
		log := &logged{of: "cannot end", seen: make(chan bool, 1)}
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
			t.Errorf("quick: %v; logged %s", quick, text)
		}
	}
}

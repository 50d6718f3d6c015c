package kerneltest_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// TestOffloadNotStarted: a function that waits for a thread when its task is
// cancelled never runs. The thread goes to the next one.
func TestOffloadNotStarted(t *testing.T) {
	r := rondo.Runner{Threads: 1}
	ran := make(map[string]bool)
	err := r.Run(t.Context(), func(ctx context.Context) error {
		until := make(chan bool)
		offload := func(name string, wait bool) *rondo.Task {
			return rondo.Go(ctx, func(ctx context.Context) error {
				_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
					if wait {
						<-until
					}
					// They run one at a time, so this is no race.
					ran[name] = true
					return 1, nil
				})
				return err
			})
		}
		first, second, third := offload("first", true), offload("second", false), offload("third", false)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		second.Cancel(nil)
		if err := second.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait for the second task returned %v", err)
		}
		close(until)
		return errors.Join(first.Wait(ctx), third.Wait(ctx))
	})
	if err != nil {
		t.Error(err)
	}
	if !ran["first"] || ran["second"] || !ran["third"] {
		t.Errorf("these functions ran: %v", ran)
	}
}

// TestOffloadCancelledWithItsTurn: a task that is cancelled just after it got a
// thread does not start its function, and the thread goes to the next task.
func TestOffloadCancelledWithItsTurn(t *testing.T) {
	var second *rondo.Task
	cancelled := false
	r := rondo.Runner{Threads: 1, Tracer: &rondo.Tracer{Woken: func(t, by *rondo.Task, at time.Time) {
		if t == second {
			cancelled = true
			t.Cancel(nil)
		}
	}}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		until := make(chan bool)
		first := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := rondo.Offload(ctx, func(context.Context) (bool, error) { return <-until, nil })
			return err
		})
		second = rondo.Go(ctx, func(ctx context.Context) error {
			_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
				t.Error("the second function ran")
				return 0, nil
			})
			return err
		})
		third := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, nil })
			return err
		})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		close(until)
		if err := second.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait for the second task returned %v", err)
		}
		return errors.Join(first.Wait(ctx), third.Wait(ctx))
	})
	if err != nil || !cancelled {
		t.Errorf("Run returned %v; the second task was cancelled: %v", err, cancelled)
	}
}

// TestOffloadAbandoned: a function goes on when its task is cancelled. If it
// still runs at the end of the loop, OnError is called once for each function,
// with its name.
func TestOffloadAbandoned(t *testing.T) {
	until, before := make(chan bool), runtime.NumGoroutine()
	defer func() { close(until); leak.Settle(before) }()
	main := func(ctx context.Context) error {
		for _, fn := range []func(context.Context) (int, error){block(until), block(until), other(until)} {
			task := rondo.Go(ctx, func(ctx context.Context) error {
				_, err := rondo.Offload(ctx, fn)
				return err
			})
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			task.Cancel(nil)
			if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Wait returned %v", err)
			}
		}
		return nil
	}
	var reports []report
	r := rondo.Runner{OnError: func(about rondo.TaskInfo, err error) { reports = append(reports, report{about, err}) }}
	if err := r.Run(t.Context(), main); err != nil {
		t.Error(err)
	}
	if len(reports) != 2 {
		t.Fatalf("OnError got %v", reports)
	}
	for i, want := range []struct{ name, text string }{{"block.func1", "block.func1 was abandoned, 2 times"}, {"other.func1", "abandoned, 1 times"}} {
		r := reports[i]
		if !errors.Is(r.err, rondo.ErrLeftBehind) || !strings.Contains(r.err.Error(), want.text) || !strings.HasSuffix(r.about.Func, want.name) {
			t.Errorf("%s: %v, want %s of %s", r.about.Func, r.err, want.text, want.name)
		}
	}
	var err error
	if log := logs(func() { err = rondo.Run(t.Context(), main) }); err != nil || strings.Count(log, "level=WARN") != 2 || !strings.Contains(log, "block.func1") {
		t.Errorf("Run returned %v and logged %s", err, log)
	}
}

//go:noinline
func block(until chan bool) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { <-until; return 0, nil }
}

//go:noinline
func other(until chan bool) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { <-until; return 0, nil }
}

// TestOffloadAbandonedIsReportedOnce, also if the loop goes on for what OnError starts.
func TestOffloadAbandonedIsReportedOnce(t *testing.T) {
	until, before := make(chan bool), runtime.NumGoroutine()
	defer func() { close(until); leak.Settle(before) }()
	var loop *rondo.Loop
	reported, called := 0, false
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) {
		if reported++; reported == 1 {
			loop.CallSoon(func() { called = true })
		}
	}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		loop = rondo.LoopOf(ctx)
		task := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := rondo.Offload(ctx, block(until))
			return err
		})
		_ = rondo.Yield(ctx)
		task.Cancel(nil)
		_ = task.Wait(ctx)
		return nil
	})
	if err != nil || reported != 1 || !called {
		t.Errorf("Run returned %v, OnError was called %d times, what it started ran: %v", err, reported, called)
	}
}

// TestOffloadAbandonedEnds: an abandoned function that has ended by the loop's end is not reported.
// One that panics after that has only the log to tell.
func TestOffloadAbandonedEnds(t *testing.T) {
	abandon := func(ctx context.Context, fn func(context.Context) error) {
		task := rondo.Go(ctx, func(ctx context.Context) error { return rondo.OffloadFunc(ctx, fn) })
		_ = rondo.Yield(ctx)
		task.Cancel(nil)
		_ = task.Wait(ctx)
	}
	var reports []report
	r := rondo.Runner{Threads: 1, OnError: func(about rondo.TaskInfo, err error) { reports = append(reports, report{about, err}) }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		until := make(chan bool)
		abandon(ctx, func(context.Context) error { <-until; return nil })
		close(until)
		// This one has its turn when the loop has taken the other one back.
		return rondo.OffloadFunc(ctx, func(context.Context) error { return nil })
	})
	if err != nil || len(reports) != 0 {
		t.Errorf("Run returned %v, OnError has %v", err, reports)
	}
	// One that heeds its ctx has a moment for it when the loop ends.
	func() {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		err = r.Run(t.Context(), func(ctx context.Context) error {
			abandon(ctx, func(ctx context.Context) error { <-ctx.Done(); runtime.Gosched(); return nil })
			return nil
		})
	}()
	if err != nil || len(reports) != 0 {
		t.Errorf("Run returned %v, OnError has %v", err, reports)
	}
	for _, breaks := range []bool{false, true} {
		until := make(chan bool)
		log := logs(func() {
			err = r.Run(t.Context(), func(ctx context.Context) error {
				abandon(ctx, func(context.Context) error {
					if <-until; breaks {
						panic("late and broken")
					}
					return nil
				})
				return nil
			})
			endOffload(t, until)
		})
		if told := strings.Contains(log, "after the loop's end") && strings.Contains(log, "late and broken"); err != nil || told != breaks || !breaks && log != "" {
			t.Errorf("Run returned %v; with a panic %t the log has %q", err, breaks, log)
		}
	}
}

// endOffload closes until, which the only offloaded function waits for, and returns when that has
// ended, and told the loop or the log.
func endOffload(t *testing.T, until chan bool) {
	t.Helper()
	const frame = "rondo.(*offloadCall).run"
	if !strings.Contains(leak.Stacks(), frame) {
		t.Error("no goroutine runs an offloaded function")
	}
	close(until)
	for strings.Contains(leak.Stacks(), frame) {
		runtime.Gosched()
	}
}

// TestOffloadEndsAsItsTaskIsCancelled: a function that has returned by the time at which
// its task learns of the cancellation is not reported as one that still runs, its result is
// dropped, and its panic goes to OnError.
func TestOffloadEndsAsItsTaskIsCancelled(t *testing.T) {
	var reports []report
	r := rondo.Runner{OnError: func(about rondo.TaskInfo, err error) { reports = append(reports, report{about, err}) }}
	for _, panics := range []bool{false, true} {
		reports = nil
		err := r.Run(t.Context(), func(ctx context.Context) error {
			loop, until := rondo.LoopOf(ctx), make(chan bool)
			var task *rondo.Task
			task = rondo.Go(ctx, func(ctx context.Context) error {
				v, err := rondo.Offload(ctx, func(context.Context) (int, error) {
					<-until
					// The loop finds this and the result together, in this order.
					if err := loop.Post(func() { task.Cancel(nil) }); err != nil || panics {
						panic("late and broken")
					}
					return 1, nil
				})
				if v != 0 {
					t.Errorf("Offload returned %d of a function that it has abandoned, and %v", v, err)
				}
				return err
			})
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			// The loop stands still until the function's goroutine has ended.
			endOffload(t, until)
			if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Wait returned %v", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		var p *rondo.PanicError
		switch {
		case !panics && len(reports) > 0:
			t.Errorf("OnError got %v", reports)
		case panics && (len(reports) != 1 || !errors.As(reports[0].err, &p) || p.Value != "late and broken"):
			t.Errorf("with a panic OnError got %v", reports)
		}
	}
}

func TestOffload(t *testing.T) {
	run(t, func(ctx context.Context) error {
		v, err := rondo.Offload(ctx, func(ctx context.Context) (string, error) {
			if rondo.Current(ctx) != nil {
				t.Error("Current in an offloaded function is not nil")
			}
			if err := rondo.Yield(ctx); !errors.Is(err, rondo.ErrNoLoop) {
				t.Errorf("Yield in an offloaded function returned %v", err)
			}
			return "v", errBroken
		})
		if v != "v" || err != errBroken {
			t.Errorf("Offload returned %q, %v", v, err)
		}
		func() {
			defer func() {
				if p, ok := recover().(*rondo.PanicError); !ok || p.Value != "oops" {
					t.Errorf("recovered %v", p)
				}
			}()
			_, _ = rondo.Offload(ctx, func(context.Context) (int, error) { explode(); return 0, nil })
		}()
		if _, err := rondo.Offload(ctx, func(context.Context) (int, error) { runtime.Goexit(); return 1, nil }); err == nil {
			t.Error("Offload of a function that calls Goexit returned no error")
		}
		return nil
	})
}

// TestOffloadCancelled: a cancelled Offload returns at once. The ctx of its
// function is cancelled, and the result is dropped.
func TestOffloadCancelled(t *testing.T) {
	gone := make(chan error, 1)
	run(t, func(ctx context.Context) error {
		loop, v := rondo.LoopOf(ctx), 0
		err := rondo.Group(ctx, func(g *rondo.Scope) (err error) {
			v, err = rondo.Offload(g, func(ctx context.Context) (int, error) {
				_ = loop.Post(func() { g.Cancel(errBroken) })
				<-ctx.Done()
				gone <- context.Cause(ctx)
				return 1, nil
			})
			return err
		})
		if v != 0 || err != errBroken {
			t.Errorf("Offload returned %d, %v", v, err)
		}
		return nil
	})
	if err := <-gone; err != errBroken {
		t.Errorf("the function saw the cause %v", err)
	}
}

// TestOffloadIsBounded: at most Threads functions run at once, and all of them
// run, also if some tasks that wait are cancelled.
func TestOffloadIsBounded(t *testing.T) {
	var running, most, ran atomic.Int64
	r := rondo.Runner{Threads: 3}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 40 {
				task := g.Go(func(ctx context.Context) error {
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
						n := running.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						runtime.Gosched()
						ran.Add(1)
						running.Add(-1)
						return 0, nil
					})
					return err
				})
				if i%4 == 3 {
					if err := rondo.Yield(g); err != nil {
						return err
					}
					task.Cancel(nil)
				}
			}
			return nil
		})
	})
	if err != nil || most.Load() > 3 || ran.Load() < 30 {
		t.Errorf("Run returned %v; %d functions ran at once, %d in all", err, most.Load(), ran.Load())
	}
}

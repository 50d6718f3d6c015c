package kerneltest_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// TestGoexit: when a task or a callback calls runtime.Goexit, everything else is
// cancelled and waited for, and then the goroutine of Run calls Goexit too.
func TestGoexit(t *testing.T) {
	for name, main := range map[string]func(ctx context.Context) error{
		"main":                         func(context.Context) error { runtime.Goexit(); return nil },
		"tasks":                        exitInTasks,
		"a task, and then main panics": exitBeforePanic,
		"group":                        exitInGroup,
		"coroutine":                    exitInCoroutine,
		"callback":                     exitInCallback,
		"callback after a task":        exitAfterTask,
		"callback while a group waits for its task":         exitWhileGroupEnds,
		"callback while a group that panicked waits":        exitWhilePanickedGroupEnds,
		"callback, and then a clean-up waits and panics":    exitBeforeCleanUp,
		"callback while the Pulls of a task are cleaned up": exitWhilePullsEnd,
	} {
		t.Run(name, func(t *testing.T) { runExits(t, main) })
	}
}

// runExits runs main beside 20 tasks, and fails t unless Run calls Goexit when
// all of them have run their deferred calls.
func runExits(t *testing.T, main func(ctx context.Context) error) {
	before := runtime.NumGoroutine()
	deferred, returned := 0, false
	var recovered any
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { recovered = recover() }()
		_ = rondo.Run(context.Background(), func(ctx context.Context) error {
			for range 20 {
				rondo.Go(ctx, func(ctx context.Context) error {
					defer func() { deferred++ }()
					return forever(ctx)
				})
			}
			_ = rondo.Yield(ctx)
			return main(ctx)
		})
		returned = true
	})
	wg.Wait()
	if returned || recovered != nil {
		t.Errorf("Run did not call Goexit: it returned (%v) or panicked (%v)", returned, recovered)
	}
	if deferred != 20 {
		t.Errorf("%d of 20 deferred calls ran", deferred)
	}
	if left := leak.Settle(before); left > before {
		t.Errorf("%d goroutines are left", left-before)
	}
}

func exitInTasks(ctx context.Context) error {
	for range 3 {
		rondo.Go(ctx, func(context.Context) error { runtime.Goexit(); return nil })
	}
	return forever(ctx)
}

func exitBeforePanic(ctx context.Context) error {
	rondo.Go(ctx, func(context.Context) error { runtime.Goexit(); return nil })
	panic(forever(ctx))
}

func exitInGroup(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(forever)
		_ = rondo.Yield(g)
		runtime.Goexit()
		return nil
	})
}

func exitInCoroutine(ctx context.Context) error {
	next, stop := iter.Pull(func(func(int) bool) {
		_ = rondo.Yield(ctx)
		runtime.Goexit()
	})
	defer stop()
	next()
	return nil
}

func exitInCallback(ctx context.Context) error {
	rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
	return forever(ctx)
}

func exitAfterTask(ctx context.Context) error {
	rondo.Go(ctx, func(ctx context.Context) error {
		for range 5 {
			_ = rondo.Yield(ctx)
		}
		rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
		return nil
	})
	return forever(ctx)
}

func exitWhileGroupEnds(ctx context.Context) error {
	rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(lingering)
		return nil
	})
}

func exitWhilePanickedGroupEnds(ctx context.Context) error {
	rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(lingering)
		panic("dropped: the Goexit ends the task")
	})
}

func exitBeforeCleanUp(ctx context.Context) error {
	rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
	defer func() {
		if err := lingering(ctx); err != nil {
			panic(err)
		}
		defer func() { _ = recover() }()
		panic("recovered")
	}()
	return forever(ctx)
}

func exitWhilePullsEnd(ctx context.Context) error {
	return rondo.Go(ctx, func(ctx context.Context) error {
		pullLingering(ctx)
		rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
		return nil
	}).Wait(ctx)
}

// TestGoexitOften: tasks of a Shield exit one after the other where others have exited before. No
// other task exits with them.
func TestGoexitOften(t *testing.T) {
	const rounds, many, steps = 10, 5, 20
	ended := 0
	shielded := func(ctx context.Context, yields int, end func()) error {
		return rondo.Shield(ctx, func(ctx context.Context) error {
			for range yields {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			end()
			return nil
		})
	}
	runExits(t, func(ctx context.Context) error {
		return rondo.Shield(ctx, func(ctx context.Context) error {
			for range rounds {
				// It fails from the first Goexit on, which cancels everything.
				_ = rondo.Group(ctx, func(g *rondo.Scope) error {
					for i := range many {
						g.Go(func(ctx context.Context) error { return shielded(ctx, steps, func() { ended++ }) })
						g.Go(func(ctx context.Context) error { return shielded(ctx, i, runtime.Goexit) })
					}
					return nil
				})
			}
			return nil
		})
	})
	if ended != rounds*many {
		t.Errorf("%d of %d tasks ran to their end", ended, rounds*many)
	}
}

// lingering waits some milliseconds, also if ctx is cancelled.
func lingering(ctx context.Context) error {
	return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 10*time.Millisecond) })
}

// pullLingering leaves a Pull of the calling task whose clean-up waits.
func pullLingering(ctx context.Context) {
	next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
		yield(1)
		_ = lingering(ctx)
	})
	next()
}

// TestGoexitOnStackOfTask: if a callback calls Goexit on the stack of a task that is about to wait,
// the deferred calls of the task run as they do when it returns: it is running, and they may wait.
func TestGoexitOnStackOfTask(t *testing.T) {
	for name, c := range map[string]struct {
		waits   bool // the task waits for an Event; else it yields
		cancels bool // the callback cancels the task before it calls Goexit
	}{
		"ready": {false, false}, "waiting": {true, false}, "cancelled meanwhile": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			runExits(t, func(ctx context.Context) error {
				return rondo.Go(ctx, func(ctx context.Context) error { exitOnStack(t, ctx, c.waits, c.cancels); return nil }).Wait(ctx)
			})
		})
	}
}

// exitOnStack waits again and again, until a callback runs on its stack, and calls Goexit.
//
//go:noinline
func exitOnStack(t *testing.T, ctx context.Context, waits, cancels bool) {
	l, self := rondo.LoopOf(ctx), rondo.Current(ctx)
	var e rondo.Event
	var exit func()
	steps := 0
	exit = func() {
		// Only a loop of many short steps runs callbacks on the stacks of tasks.
		if steps++; steps%100 != 0 || !strings.Contains(string(debug.Stack()), "kerneltest_test.exitOnStack(") {
			e.Set()
			l.CallSoon(exit)
			return
		}
		if cancels {
			self.Cancel(nil)
		}
		runtime.Goexit()
	}
	l.CallSoon(exit)
	defer func() {
		if rondo.Current(ctx) != self || self.Info().State != "running" {
			t.Errorf("in its deferred call the task is %+v", self.Info())
		}
		if err := lingering(ctx); err != nil {
			t.Errorf("a wait of the deferred call returned %v", err)
		}
	}()
	for err := error(nil); err == nil; e.Clear() {
		if waits {
			err = e.Wait(ctx)
		} else {
			err = rondo.Yield(ctx)
		}
	}
}

// TestGoexitOfHook: if a hook of the Tracer calls Goexit because a task is about to wait, the task
// is running in its deferred calls, and in no list.
func TestGoexitOfHook(t *testing.T) {
	ended := make(chan bool)
	go func() {
		defer close(ended)
		exits := false
		r := rondo.Runner{Tracer: &rondo.Tracer{Parked: func(*rondo.Task, rondo.Reason, time.Time) {
			if exits {
				exits = false
				runtime.Goexit()
			}
		}}}
		_ = r.Run(t.Context(), func(ctx context.Context) error {
			var list rondo.WaitList
			self := rondo.Current(ctx)
			defer func() {
				if state := self.Info().State; state != "running" || list.Len() != 0 {
					t.Errorf("in its deferred call the task is %s, and %d tasks are in its list", state, list.Len())
				}
				if err := lingering(ctx); err != nil {
					t.Errorf("a wait of the deferred call returned %v", err)
				}
			}()
			exits = true
			return list.Park(ctx, rondo.Reason{What: "test"})
		})
		t.Error("Run returned")
	}()
	<-ended
}

// TestGoexitWhilePanicIsCleanedUp: a callback calls Goexit on the stack of a task
// that has panicked and waits for its Pulls. The task ends, and Run panics.
func TestGoexitWhilePanicIsCleanedUp(t *testing.T) {
	for _, recovers := range []bool{false, true} {
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() {
				if v := recover(); (v != nil) == recovers {
					t.Errorf("Recover %v: Run panicked with %v", recovers, v)
				}
			}()
			r := rondo.Runner{Recover: recovers, OnError: func(rondo.TaskInfo, error) {}}
			err := r.Run(context.Background(), func(ctx context.Context) error {
				return rondo.Go(ctx, func(ctx context.Context) error {
					pullLingering(ctx)
					defer rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
					panic("oops")
				}).Wait(ctx)
			})
			t.Errorf("Recover %v: Run returned %v", recovers, err)
		})
		wg.Wait()
	}
}

// TestPanicBeforeGoexit: a panic is not lost if a task that it has cancelled
// calls Goexit, as testing.T.Fatal does.
func TestPanicBeforeGoexit(t *testing.T) {
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if p, ok := recover().(*rondo.PanicError); !ok || p.Value != "first" {
				t.Errorf("Run panicked with %v", p)
			}
		}()
		err := rondo.Run(context.Background(), func(ctx context.Context) error {
			rondo.Go(ctx, func(context.Context) error { panic("first") })
			if forever(ctx) != nil {
				runtime.Goexit()
			}
			return nil
		})
		t.Errorf("Run returned %v", err)
	})
	wg.Wait()
}

// TestGoexitOfCallbacks: several callbacks that call Goexit one after the other, on the goroutine
// of Run and on tasks' stacks, leave no task without its end. A panic of a task that they have
// cancelled does not replace the Goexit. OnError gets the error of main, as Run does not return.
func TestGoexitOfCallbacks(t *testing.T) {
	for n := range 5 {
		mainEnded, taskEnded, run := false, false, make(chan bool)
		var failed, want []string
		go func() {
			defer close(run)
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("%d callbacks: Run panicked with %v", n+1, v)
				}
			}()
			r := rondo.Runner{OnError: func(task rondo.TaskInfo, err error) {
				if errors.Is(err, errBroken) {
					failed = append(failed, task.Name)
				}
			}}
			_ = r.Run(t.Context(), func(ctx context.Context) error {
				defer func() { mainEnded = true }()
				rondo.Go(ctx, func(ctx context.Context) error {
					defer func() { taskEnded = true }()
					panic(forever(ctx))
				})
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
				l := rondo.LoopOf(ctx)
				go func() {
					for range n + 1 {
						_ = l.Post(runtime.Goexit)
					}
				}()
				err := forever(ctx)
				want = []string{"main"} // else a callback ran on the stack of main
				return errors.Join(err, errBroken)
			})
			t.Error("Run returned")
		}()
		if <-run; !slices.Equal(failed, want) {
			t.Errorf("%d callbacks: OnError got the error of %q, want %q", n+1, failed, want)
		}
		if !mainEnded || !taskEnded {
			t.Errorf("%d callbacks: main has ended: %t, the task has ended: %t", n+1, mainEnded, taskEnded)
		}
	}
}

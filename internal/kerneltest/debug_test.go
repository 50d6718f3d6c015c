package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestDebugReusesLists: with Debug a WaitList can be used again and again, and
// wakes tasks in their order.
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
				t.Errorf("%d tasks wait, want 3", n)
			}
			list.Wake()
			list.WakeAll()
			if list.Wake() || list.Len() != 0 {
				t.Error("a task still waits")
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if fmt.Sprint(order) != "[0 1 2]" {
				t.Errorf("the tasks woke in the order %v", order)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDebugAfterSelect: with Debug a goroutine may not wake those who wait for anything that a task
// has waited for in a Select, whichever case was taken, although nobody waits any more.
func TestDebugAfterSelect(t *testing.T) {
	var q rondo.Queue[int]
	var a, b rondo.Event
	calls := map[string]func(){"Queue.TryPut": func() { q.TryPut(2) }, "Event.Set": a.Set, "Event.Set ": b.Set}
	_, err := debugged(t, func(ctx context.Context) error {
		task := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := rondo.Select(ctx, a.WaitCase(), q.GetCase(new(int)), b.WaitCase())
			return err
		})
		for task.Info().State != "waiting" {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		q.TryPut(1)
		if err := task.Wait(ctx); err != nil {
			return err
		}
		for name, call := range calls {
			err := byGoroutine(func() error { call(); return nil })
			if want := "panic: rondo: " + strings.TrimSpace(name) + " from a goroutine"; !strings.HasPrefix(fmt.Sprint(err), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for name, call := range calls {
		if err := byGoroutine(func() error { call(); return nil }); err != nil {
			t.Errorf("%s after the end of the loop: %v", name, err)
		}
	}
}

// A report is a call of OnError.
type report struct {
	about rondo.TaskInfo
	err   error
}

// debugged runs main with Debug and returns what OnError was called with.
func debugged(t *testing.T, main func(ctx context.Context) error) (reports []report, err error) {
	t.Helper()
	r := rondo.Runner{Debug: true, EndDeadlock: time.Millisecond, SlowStep: time.Hour, OnError: func(about rondo.TaskInfo, err error) {
		reports = append(reports, report{about, err})
	}}
	err = r.Run(context.Background(), main)
	return reports, err
}

// lockedWaits are waits of a task that is locked to its thread, which the runtime
// would end the process for, and the beginning of what the panic says.
var lockedWaits = map[string]func(ctx context.Context) error{
	"rondo.Sleep in main": func(ctx context.Context) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return rondo.Sleep(ctx, time.Millisecond)
	},
	"rondo.Group in main": func(ctx context.Context) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(forever) // the panic waits for it
			return nil
		})
	},
	"rondo.Yield in main": func(ctx context.Context) error {
		runtime.LockOSThread() // and nothing unlocks it
		return rondo.Yield(ctx)
	},
	"rondo.Mutex.Lock in main": func(ctx context.Context) error {
		var m rondo.Mutex
		_ = m.Lock(ctx)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return m.Lock(ctx)
	},
	"yield of a Pull in task-": func(ctx context.Context) error {
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			yield(1)
		})
		defer stop()
		next()
		return nil
	},
	"task-3 has ended and is locked to its thread": func(ctx context.Context) error {
		return rondo.Go(ctx, func(context.Context) error { runtime.LockOSThread(); return nil }).Wait(ctx)
	},
}

// TestSiteOfPanic: with Debug a panic names the place where its task was started, also if another
// task passes it on.
func TestSiteOfPanic(t *testing.T) {
	_, err := debugged(t, func(ctx context.Context) error {
		return rondo.Contain(ctx, func(ctx context.Context) error {
			first := rondo.Go(ctx, func(context.Context) error { panic("oops") })
			err := first.Wait(ctx)
			second := rondo.Go(ctx, func(context.Context) error { panic(err) })
			var p, passed *rondo.PanicError
			if !errors.As(err, &p) || !errors.As(second.Wait(ctx), &passed) || p.Site == "" || p.Site != first.Info().Site || passed.Site != p.Site {
				t.Errorf("the panic is %v, the one that was passed on %v", p, passed)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWaitOnLockedThread: with Debug a task that is locked to its thread panics
// instead of waiting. The panic unwinds it, so that the process lives, and all is
// unlocked in the end. What does not wait may be locked.
func TestWaitOnLockedThread(t *testing.T) {
	if !readsRecords {
		return
	}
	for want, wait := range lockedWaits {
		t.Run(want, func(t *testing.T) {
			r := rondo.Runner{Debug: true, Recover: true}
			err := r.Run(t.Context(), func(ctx context.Context) error {
				runtime.LockOSThread()
				runtime.UnlockOSThread()
				if err := rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 1) }).Wait(ctx); err != nil {
					return err
				}
				return wait(ctx)
			})
			var p *rondo.PanicError
			if !errors.As(err, &p) || !strings.HasPrefix(fmt.Sprint(p.Value), "rondo: "+want) {
				t.Errorf("Run returned %v", err)
			}
		})
	}
}

// TestAfterWaitOnLockedThread: after such a panic the task is unlocked, waits for nothing and goes
// on, and the next wait of this kind panics too.
func TestAfterWaitOnLockedThread(t *testing.T) {
	if !readsRecords {
		return
	}
	for name, wait := range map[string]func(ctx context.Context, list *rondo.WaitList) error{
		"Park": func(ctx context.Context, list *rondo.WaitList) error {
			return list.Park(ctx, rondo.Reason{What: "test"})
		},
		"Sleep": func(ctx context.Context, _ *rondo.WaitList) error { return rondo.Sleep(ctx, 1) },
		"Yield": func(ctx context.Context, _ *rondo.WaitList) error { return rondo.Yield(ctx) },
		"Park with another ctx": func(ctx context.Context, list *rondo.WaitList) error {
			within, stop := context.WithCancel(ctx)
			defer stop()
			return list.Park(within, rondo.Reason{What: "test"})
		},
	} {
		_, err := debugged(t, func(ctx context.Context) error {
			var list rondo.WaitList
			for round := range 2 {
				text := panicOf(func() {
					runtime.LockOSThread()
					_ = wait(ctx, &list)
				})
				if !strings.Contains(text, "which is locked to its thread") {
					return fmt.Errorf("round %d: the panic is %q", round, text)
				}
				me, timers := rondo.Current(ctx).Info(), rondo.LoopOf(ctx).Stats().Timers
				if me.State != "running" || list.Len() != 0 || timers != 0 {
					return fmt.Errorf("round %d: the task is %s, %d tasks are in the list, %d timers are set", round, me.State, list.Len(), timers)
				}
				if err := rondo.Sleep(ctx, 2); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: Run returned %v", name, err)
		}
	}
}

// TestDebugByEnvironment: RONDO_DEBUG=1 is as good as Runner.Debug.
func TestDebugByEnvironment(t *testing.T) {
	for value, want := range map[string]int{"1": 1, "0": 0, "": 0} {
		t.Setenv("RONDO_DEBUG", value)
		left := 0
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) {
			if errors.Is(err, rondo.ErrLeftBehind) {
				left++
			}
		}}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			rondo.Go(ctx, forever)
			return rondo.Yield(ctx)
		})
		if err != nil || left != want {
			t.Errorf("RONDO_DEBUG=%s: Run returned %v; %d tasks were reported, want %d", value, err, left, want)
		}
	}
}

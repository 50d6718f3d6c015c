package rondo

import (
	"context"
	"slices"
	"testing"
	"time"
)

// sleepAnHour is a function whose name TaskInfo shows.
func sleepAnHour(ctx context.Context) error { return Sleep(ctx, time.Hour) }

// TestInfoOfStates: Info and Tasks describe a task in each of its states, by the clock as it is.
func TestInfoOfStates(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		m := Mutex{Name: "accounts"}
		if err := m.Lock(ctx); err != nil {
			return err
		}
		var tasks []*Task
		for _, fn := range []func(ctx context.Context) error{
			sleepAnHour,
			m.Lock,
			func(ctx context.Context) error { return tasks[0].Wait(ctx) },
			func(ctx context.Context) error {
				_, err := Select(ctx, tasks[0].WaitCase(), new(Event).WaitCase(), After(time.Hour))
				return err
			},
			func(ctx context.Context) error { return ctx.Err() },
		} {
			tasks = append(tasks, Go(ctx, fn))
		}
		tasks[1].SetName("payer")
		names := []string{"task-2", "payer", "task-4", "task-5", "task-6"}
		check := func(want ...TaskInfo) {
			t.Helper()
			var all []TaskInfo
			for i, w := range want {
				got := tasks[i].Info()
				w.ID, w.Name, w.Parent, w.Loop = uint64(i)+2, names[i], 1, scopeOf(ctx).loop.Name()
				if w.Func = got.Func; i == 0 {
					w.Func = "github.com/rondo-go/rondo.sleepAnHour"
				}
				if got != w {
					t.Errorf("a task is\n%+v, want\n%+v", got, w)
				}
				if got.State != "done" {
					all = append(all, got)
				}
			}
			d.now += 5
			for i := range all {
				all[i].Age += 5
				if all[i].State == "waiting" {
					all[i].Since += 5
				}
			}
			if got := Tasks(ctx)[1:]; !slices.Equal(got, all) {
				t.Errorf("Tasks returned\n%+v, want\n%+v", got, all)
			}
		}
		d.now += 100
		fresh := TaskInfo{State: "new", Age: 100}
		check(fresh, fresh, fresh, fresh, fresh)
		if err := Yield(ctx); err != nil {
			return err
		}
		d.now += 20
		waiting := TaskInfo{State: "waiting", Age: 125, Since: 20, Switches: 1}
		sleeper, locker, waiter, selector := waiting, waiting, waiting, waiting
		sleeper.Waiting = "sleep"
		locker.Waiting, locker.Of, locker.On, locker.Owner = "lock", "accounts", 1, 1
		waiter.Waiting, waiter.On, waiter.Owner = "task", 2, 2
		selector.Waiting, selector.Of = "select", "task-2, event, sleep"
		check(sleeper, locker, waiter, selector, TaskInfo{State: "done", Age: 125})
		tasks[0].Cancel(nil)
		m.Unlock()
		d.now += 5
		ready := TaskInfo{State: "ready", Age: 135, Switches: 1}
		for _, info := range []*TaskInfo{&waiter, &selector} {
			info.Age, info.Since = 135, 30
		}
		check(ready, ready, waiter, selector, TaskInfo{State: "done", Age: 135})
		return nil
	})
}

// TestNamesAreCounted: who reads a name from outside sees by its count that there has been another,
// also if that has the same text.
func TestNamesAreCounted(t *testing.T) {
	onStepClock(t, func(ctx context.Context, _ *stepClock) error {
		me := Current(ctx)
		for range 3 {
			before := me.extra.renames // main has a name
			if me.SetName("the same"); me.extra.renames == before {
				t.Error("the name was not counted")
			}
		}
		return nil
	})
}

// TestStats: Stats counts tasks that live, were started, and can run, switches, and the timers that
// are set.
func TestStats(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		l := LoopOf(ctx)
		check := func(when string, tasks, ready, timers int, busy time.Duration) {
			t.Helper()
			s := l.Stats()
			if s.Tasks != tasks || s.Spawned != 101 || s.Ready != ready || s.Timers != timers || s.Busy != busy || s.Workers < tasks || s.Switches < 100 {
				t.Errorf("%s: %+v", when, s)
			}
		}
		d.now += 7
		err := Group(ctx, func(g *Scope) error {
			for range 100 {
				g.Go(sleepAnHour)
			}
			if s := l.Stats(); s.Tasks != 101 || s.Spawned != 101 || s.Ready != 100 || s.Timers != 0 {
				t.Errorf("before they run: %+v", s)
			}
			for l.Stats().Ready > 0 {
				if err := Yield(g); err != nil {
					return err
				}
			}
			check("while they sleep", 101, 0, 100, 7)
			g.Cancel(nil)
			if s := l.Stats(); s.Ready != 100 || s.Timers != 0 {
				t.Errorf("when they are cancelled: %+v", s)
			}
			return nil
		})
		check("at the end", 1, 0, 0, 7)
		return err
	})
}

package kerneltest_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestYield: Yield gives others a turn, also with a context that is derived from the scope, and
// each counts as a turn of the loop, also if there are no others.
func TestYield(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, c := range []context.Context{ctx, context.WithValue(ctx, ctxKey("a"), 1)} {
			ran := false
			rondo.Go(ctx, func(context.Context) error { ran = true; return nil })
			if err := rondo.Yield(c); err != nil || !ran {
				t.Errorf("Yield returned %v, another task ran: %t", err, ran)
			}
			before := rondo.LoopOf(ctx).Stats().Turns
			for range 10 {
				must(rondo.Yield(c))
			}
			if n := rondo.LoopOf(ctx).Stats().Turns - before; n < 10 {
				t.Errorf("10 calls of Yield took %d turns", n)
			}
		}
		return nil
	})
}

// TestC030OrderIsFIFO: on a real loop tasks and callbacks run in the order in which
// they became ready. A task that has yielded is behind those that the driver wakes then.
func TestC030OrderIsFIFO(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var log []string
		say := func(s string) { log = append(log, s) }
		l := rondo.LoopOf(ctx)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				say("a1")
				l.CallSoon(func() { say("soon") })
				err := rondo.Yield(ctx)
				say("a2")
				return err
			})
			l.CallSoon(func() { say("callback") })
			g.Go(func(ctx context.Context) error {
				say("b1")
				err := rondo.Yield(ctx)
				say("b2")
				return err
			})
			return nil
		})
		if got := strings.Join(log, " "); got != "a1 callback b1 soon a2 b2" {
			t.Errorf("the order was %s", got)
		}
		return err
	})
}

// TestTurnIsBounded: tasks that keep waking each other do not keep timers and
// Posts from running.
func TestTurnIsBounded(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := rondo.LoopOf(ctx)
		fired, posted := false, make(chan bool, 1)
		l.CallLater(time.Microsecond, func() { fired = true })
		go func() { _ = l.Post(func() { posted <- true }) }()
		var ping, pong rondo.Event
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				for !fired || len(posted) == 0 {
					pong.Set()
					if err := ping.Wait(ctx); err != nil {
						return err
					}
					ping.Clear()
				}
				g.Cancel(nil)
				return nil
			})
			g.Go(func(ctx context.Context) error {
				for {
					if err := pong.Wait(ctx); err != nil {
						return err
					}
					pong.Clear()
					ping.Set()
				}
			})
			return nil
		})
	})
}

// TestC034CallLater: callbacks of CallLater and CallAt run once, at their times. One
// that is cancelled does not run and leaves no timer.
func TestC034CallLater(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		l, start := rondo.LoopOf(ctx), rondo.Now(ctx)
		var ran []time.Duration
		note := func() { ran = append(ran, rondo.Now(ctx).Sub(start)) }
		l.CallLater(3*time.Second, note)
		l.CallAt(start.Add(2*time.Second), note)
		soon := l.CallSoon(note)
		h := l.CallLater(time.Second, note)
		if when := h.When(); !when.Equal(start.Add(time.Second)) {
			t.Errorf("When returned %v", when)
		}
		if !h.Cancel() || h.Cancel() || !soon.Cancel() {
			t.Error("Cancel does not report whether it cancelled the callback")
		}
		l.CallLater(-time.Second, note)
		if !l.CallLater(math.MaxInt64, note).Cancel() {
			t.Error("a callback that is never due cannot be cancelled")
		}
		l.CallLater(math.MaxInt64, note)
		if n := l.Stats().Timers; n != 3 {
			t.Errorf("%d timers are set, want 3", n)
		}
		if err := rondo.Sleep(ctx, time.Minute); err != nil {
			t.Error(err)
		}
		if want := []time.Duration{0, 2 * time.Second, 3 * time.Second}; !slices.Equal(ran, want) {
			t.Errorf("the callbacks ran at %v, want %v", ran, want)
		}
		if h.Cancel() {
			t.Error("a second Cancel returned true")
		}
	})
}

// TestTasks: Tasks describes each task of a loop, what it waits for and since
// when.
func TestTasks(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		var m rondo.Mutex
		var tasks []rondo.TaskInfo
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			holder := g.Go(func(ctx context.Context) error {
				if err := m.Lock(ctx); err != nil {
					return err
				}
				return rondo.Sleep(ctx, time.Hour)
			})
			holder.SetName("holder")
			if err := rondo.Sleep(g, time.Second); err != nil {
				return err
			}
			g.Go(func(ctx context.Context) error { return m.Lock(ctx) }).SetName("locker")
			g.Go(func(ctx context.Context) error { return holder.Wait(ctx) }).SetName("joiner")
			if err := rondo.Sleep(g, time.Minute); err != nil {
				return err
			}
			tasks = rondo.Tasks(g)
			g.Cancel(nil)
			return nil
		})
		if err != nil || len(tasks) != 4 {
			t.Fatalf("Group returned %v; there are %d tasks, want 4", err, len(tasks))
		}
		for i, want := range []rondo.TaskInfo{
			{Name: "main", State: "running", Age: 61 * time.Second},
			{Name: "holder", State: "waiting", Waiting: "sleep", Parent: 1, Age: 61 * time.Second, Since: 61 * time.Second, Switches: 1},
			{Name: "locker", State: "waiting", Waiting: "lock", On: 2, Owner: 2, Parent: 1, Age: time.Minute, Since: time.Minute, Switches: 1},
			{Name: "joiner", State: "waiting", Waiting: "task", On: 2, Owner: 2, Parent: 1, Age: time.Minute, Since: time.Minute, Switches: 1},
		} {
			got := tasks[i]
			if got.ID != uint64(i+1) || !strings.Contains(got.Func, "TestTasks") && i > 0 || got.Loop == "" {
				t.Errorf("task %d is %+v", i+1, got)
			}
			got.ID, got.Loop, got.Func = 0, "", ""
			if i == 0 {
				got.Switches = 0
			}
			if got != want {
				t.Errorf("the task is %+v\nwant        %+v", got, want)
			}
		}
	})
}

// TestEveryKeepsStep: a body that takes as long as the interval misses no tick. A
// longer one misses the ticks that have passed.
func TestEveryKeepsStep(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		for _, c := range []struct {
			body time.Duration
			want []int
		}{
			{0, []int{1, 2, 3, 4}},
			{time.Second, []int{1, 2, 3, 4}},
			{1001 * time.Millisecond, []int{1, 3, 5, 7}},
			{2 * time.Second, []int{1, 3, 5, 7}},
			{2500 * time.Millisecond, []int{1, 4, 7, 10}},
		} {
			start := rondo.Now(ctx)
			var got []int
			for at := range rondo.Every(ctx, time.Second) {
				if got = append(got, int(at.Sub(start)/time.Second)); len(got) == len(c.want) {
					break
				}
				if err := rondo.Sleep(ctx, c.body); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("a body of %v got the ticks %v, want %v", c.body, got, c.want)
			}
		}
	})
}

// TestSwitchesOfEachTask: tasks that run one after the other on one coroutine are counted apart.
func TestSwitchesOfEachTask(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, want := range []uint64{3, 1, 2} {
			task := rondo.Go(ctx, func(ctx context.Context) error {
				for range want - 1 {
					if err := rondo.Sleep(ctx, 1); err != nil {
						return err
					}
				}
				return forever(ctx)
			})
			until(ctx, func() bool { return task.Info().Waiting == "event" })
			if got := task.Info().Switches; uint64(got) != want {
				t.Errorf("a task has started or gone on %d times, want %d", got, want)
			}
			task.Cancel(nil)
			_ = task.Wait(ctx)
		}
		return nil
	})
}

package kerneltest_test

// What Rondo's own packages ask of the kernel, by internal/kernel.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestReusable: a task may run another function unless something of the first one would show: its
// cancellation, what others do with its ctx, who waits for it, and what is to be called at its end.
func TestReusable(t *testing.T) {
	beside := func(ctx context.Context, fn func(ctx context.Context) error) *rondo.Task {
		task := rondo.Go(ctx, fn)
		_ = rondo.Sleep(ctx, 1)
		return task
	}
	for name, c := range map[string]struct {
		want bool
		use  func(outer, own context.Context, me *rondo.Task)
	}{
		"nothing was done":     {true, func(_, _ context.Context, me *rondo.Task) {}},
		"it has a name":        {true, func(_, _ context.Context, me *rondo.Task) { me.SetName("a") }},
		"it was cancelled":     {false, func(_, _ context.Context, me *rondo.Task) { me.Cancel(errStop) }},
		"it was satisfied":     {true, func(_, own context.Context, _ *rondo.Task) { kernel.Of(own).Task().SetSatisfied(nil) }},
		"its ctx has a child":  {false, func(_, own context.Context, _ *rondo.Task) { _, stop := context.WithCancel(own); defer stop() }},
		"its end has a call":   {false, func(_, _ context.Context, me *rondo.Task) { me.OnDone(func() {}) }},
		"the call was stopped": {true, func(_, _ context.Context, me *rondo.Task) { me.OnDone(func() {})() }},
		"it is waited for":     {false, func(outer, _ context.Context, me *rondo.Task) { beside(outer, me.Wait) }},
		"the wait was given up": {true, func(outer, own context.Context, me *rondo.Task) {
			beside(outer, me.Wait).Cancel(nil)
		}},
		"another task waits with its ctx": {false, func(outer, own context.Context, _ *rondo.Task) {
			beside(outer, func(context.Context) error { return forever(own) })
		}},
		"another task has a Group below its ctx": {false, func(outer, own context.Context, _ *rondo.Task) {
			beside(outer, func(context.Context) error {
				return rondo.Group(own, func(g *rondo.Scope) error { return forever(g) })
			})
		}},
	} {
		exact.Test(t, func(ctx context.Context) {
			err := rondo.Group(ctx, func(outer *rondo.Scope) error {
				outer.Go(func(own context.Context) error {
					c.use(outer, own, rondo.Current(own))
					if got := kernel.Of(own).Task().Reusable(); got != c.want {
						t.Errorf("%s: the task is reusable: %v", name, got)
					}
					outer.Cancel(nil)
					return nil
				})
				return nil
			})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	run(t, func(ctx context.Context) error {
		next, stop := iter.Pull(func(yield func(bool) bool) { yield(kernel.Of(ctx).Task().Reusable()) })
		defer stop()
		if reusable, _ := next(); reusable {
			t.Error("a task in whose coroutine its function still runs is reusable")
		}
		return nil
	})
}

// TestSpend: a task whose reads and writes succeed at once lets others run after 16 of them, or
// after 256 KiB.
func TestSpend(t *testing.T) {
	const kib = 1 << 10
	for size, want := range map[int]int{0: 16, 16 * kib: 8, 100 * kib: 3, 239 * kib: 2, 240 * kib: 1, 1 << 30: 1, 1<<40 + 1: 1} {
		run(t, func(ctx context.Context) error {
			turns := 0
			other := rondo.Go(ctx, func(ctx context.Context) error {
				for {
					turns++
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
			})
			for turns == 0 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			for round := range 3 {
				before, n := turns, 0
				for turns == before && n < 100 {
					kernel.Of(ctx).Task().Spend(size)
					n++
				}
				if n != want {
					t.Errorf("round %d: others ran after %d operations of %d bytes, want %d", round, n, size, want)
				}
			}
			other.Cancel(nil)
			return nil
		})
	}
}

// TestCheckCounts: a deadline that Check has reported counts as the error of Timeout.
func TestCheckCounts(t *testing.T) {
	for name, check := range map[string]func(ctx context.Context) error{
		"Check":    func(ctx context.Context) error { return kernel.Of(ctx).Task().Check() },
		"ParkTask": func(ctx context.Context) error { return park(ctx, kernel.Of(ctx).WaitList()) },
	} {
		exact.Test(t, func(ctx context.Context) {
			err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
				if err := kernel.Of(ctx).Task().Check(); err != nil {
					t.Errorf("%s: before the deadline Check returned %v", name, err)
				}
				_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Minute) })
				if err := check(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: after the deadline it returned %v", name, err)
				}
				return nil
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: Timeout returned %v", name, err)
			}
		})
	}
}

func park(ctx context.Context, list kernel.WaitList) error {
	return list.ParkTask(kernel.Of(ctx).Task(), kernel.Reason{What: "test"})
}

// TestWaitList: waits show the name of their list; the number of what the first task waits for can
// change, and in an empty list nothing does. Wake reports whether a task waited, which then runs.
func TestWaitList(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		list, name := kernel.Of(ctx).WaitList(), "a peer"
		list.Name(&name)
		list.SetOn(1)
		var tasks []*rondo.Task
		for range 2 {
			tasks = append(tasks, rondo.Go(ctx, func(ctx context.Context) error {
				err := park(ctx, list)
				if i := rondo.Current(ctx).Info(); i.State != "running" || i.Switches != 2 {
					t.Errorf("a task that was woken is %+v", i)
				}
				return err
			}))
		}
		_ = rondo.Sleep(ctx, 1)
		list.SetOn(7)
		for i, task := range tasks {
			if info := task.Info(); info.On != 7 && info.On != 0 || info.Of != name {
				t.Errorf("task %d waits for number %d of %q", i, info.On, info.Of)
			}
		}
		if tasks[0].Info().On+tasks[1].Info().On != 7 || list.Len() != 2 {
			t.Error("the number of one task did not change")
		}
		for i, waited := range []bool{true, true, false} {
			if list.Wake() != waited {
				t.Errorf("Wake number %d does not say whether a task waited", i)
			}
		}
	})
}

// tasksOf is the Owner of a scope, and records its calls.
type tasksOf struct{ calls []string }

func (o *tasksOf) Failed(err error) { o.calls = append(o.calls, fmt.Sprint("failed: ", err)) }
func (o *tasksOf) Emptied()         { o.calls = append(o.calls, "emptied") }

// TestOpenServing: the owner of a scope without a body is told of the first task that fails, unless
// it has cancelled the scope itself, and of the end of the last. Close returns what tasks have
// failed with, but not what the cancellation has made of them; it is refused while the scope has
// tasks.
func TestOpenServing(t *testing.T) {
	fails := func(ctx context.Context) error { _ = forever(ctx); return errBroken }
	for name, c := range map[string]struct {
		start  []func(ctx context.Context) error
		cause  error
		calls  string
		errors string
	}{
		"a Pull by another task":        {nil, errStop, "[emptied]", "<nil>"},
		"no task":                       {nil, nil, "[]", "<nil>"},
		"cancelled without a cause":     {[]func(ctx context.Context) error{forever}, nil, "[emptied]", "<nil>"},
		"cancelled with a cause":        {[]func(ctx context.Context) error{forever, forever}, errStop, "[emptied]", "<nil>"},
		"a task that fails":             {[]func(ctx context.Context) error{forever, func(context.Context) error { return errBroken }}, errStop, "[failed: broken emptied]", "broken"},
		"a task that fails at the end":  {[]func(ctx context.Context) error{fails}, errStop, "[emptied]", "broken"},
		"a Group whose body panics":     {[]func(ctx context.Context) error{forever, panicsInGroup}, errStop, "[failed: broken emptied]", "broken"},
		"a Pull that is left":           {[]func(ctx context.Context) error{pullAndLeave}, nil, "[emptied]", "<nil>"},
		"a Pull, and a task that waits": {[]func(ctx context.Context) error{pullAndLeave, forever}, errStop, "[emptied]", "<nil>"},
	} {
		exact.Test(t, func(ctx context.Context) {
			var o tasksOf
			s := kernel.Of(ctx).OpenServing(ctx, &o)
			for _, fn := range c.start {
				rondo.Go(s.Context(), fn)
			}
			if name == "a Pull by another task" {
				next, _ := rondo.Pull(s.Context(), endless)
				next()
			}
			_ = rondo.Sleep(ctx, time.Second)
			s.Cancel(c.cause)
			if cause := context.Cause(s.Context()); c.calls != "[failed: broken emptied]" && c.cause == nil && cause != context.Canceled || c.cause == errStop && cause != errStop && cause != errBroken {
				t.Errorf("%s: the cause is %v", name, cause)
			}
			errs, closed := s.Close()
			for n := 0; !closed && n < 3; n++ {
				_ = rondo.Sleep(ctx, time.Second)
				errs, closed = s.Close()
			}
			if got := fmt.Sprint(o.calls); !closed || got != c.calls || fmt.Sprint(errs) != c.errors {
				t.Errorf("%s: the owner was told %s, want %s; Close returned %v, %v", name, got, c.calls, errs, closed)
			}
			if rondo.Go(s.Context(), forever).Wait(ctx) == nil || fmt.Sprint(o.calls) != c.calls {
				t.Errorf("%s: a task in a closed scope is not cancelled, or the owner is told of it", name)
			}
		})
	}
}

// panicsInGroup recovers the panic of the body of a Group, in which a task fails.
func panicsInGroup(ctx context.Context) error {
	defer func() { _ = recover() }()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(breaks)
		_ = rondo.Yield(g)
		panic("oops")
	})
}

// pullAndLeave begins a sequence and does not end it.
func pullAndLeave(ctx context.Context) error {
	next, _ := rondo.Pull(ctx, endless)
	next()
	return forever(ctx)
}

// endless is a sequence without an end.
func endless(yield func(int) bool) {
	for yield(1) {
	}
}

// TestWaits: a task that waits is alone unless a task that was started with its ctx lives, in
// whichever scope of the task.
func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		alone bool
		fn    func(ctx context.Context) error
	}{
		"nothing else": {true, forever},
		"a Group without tasks": {true, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { return forever(g) })
		}},
		"Groups one in the other": {true, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				return rondo.Group(g, func(g *rondo.Scope) error { return forever(g) })
			})
		}},
		"a task": {false, func(ctx context.Context) error { rondo.Go(ctx, forever); return forever(ctx) }},
		"a task in a Group": {false, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(forever); return forever(g) })
		}},
		"a task in the inner Group": {false, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				return rondo.Group(g, func(g *rondo.Scope) error { g.Go(forever); return forever(g) })
			})
		}},
		"a task that has ended": {true, func(ctx context.Context) error { rondo.Go(ctx, nothing); return forever(ctx) }},
	} {
		exact.Test(t, func(ctx context.Context) {
			l := kernel.Of(ctx)
			task := rondo.Go(ctx, c.fn)
			l.SetServing(task)
			if waits, _ := l.Waits(task); waits {
				t.Errorf("%s: a task that has not begun waits", name)
			}
			_ = rondo.Sleep(ctx, 1)
			if waits, alone := l.Waits(task); !waits || alone != c.alone {
				t.Errorf("%s: the task waits: %v, alone: %v", name, waits, alone)
			}
		})
	}
}

// TestSetSatisfied: a wait that a cancellation ends returns nil if it has succeeded before that,
// and the cause if it has not.
func TestSetSatisfied(t *testing.T) {
	for _, c := range []struct {
		satisfied func() bool
		want      error
	}{
		{func() bool { return true }, nil},
		{func() bool { return false }, errStop},
		{nil, errStop},
	} {
		exact.Test(t, func(ctx context.Context) {
			var got error
			task := rondo.Go(ctx, func(ctx context.Context) error {
				kernel.Of(ctx).Task().SetSatisfied(c.satisfied)
				got = park(ctx, kernel.Of(ctx).WaitList())
				return nil
			})
			_ = rondo.Sleep(ctx, 1)
			task.Cancel(errStop)
			_ = task.Wait(ctx)
			if got != c.want {
				t.Errorf("the wait returned %v, want %v", got, c.want)
			}
		})
	}
}

// TestHelpers: while a goroutine works for a simulated loop, virtual time stands still.
func TestHelpers(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		l, began := kernel.Of(ctx), rondo.Now(ctx)
		var posted time.Time
		l.AddHelpers(1)
		l.GoFunc(func() {
			for range 1000 {
				runtime.Gosched()
			}
			_ = l.Post(func() {
				l.AddHelpers(-1)
				posted = rondo.Now(ctx)
			})
		})
		_ = rondo.Sleep(ctx, time.Hour)
		if !posted.Equal(began) || l.Helpers() != 0 {
			t.Errorf("%v have passed; %d goroutines still work", posted.Sub(began), l.Helpers())
		}
	})
}

package kerneltest_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// A ring is a program that ends in deadlock.
type ring struct {
	name  string
	rings string // as the report has them; "": none
	run   func(ctx context.Context, g *rondo.Scope)
}

// acts starts a task that takes all but the last of the locks, and waits for that one when all
// tasks have taken theirs.
func acts(g *rondo.Scope, name string, waits func(ctx context.Context) error, takes ...func(ctx context.Context) error) {
	g.Go(func(ctx context.Context) error {
		for _, take := range takes {
			if err := take(ctx); err != nil {
				return err
			}
		}
		for range 3 {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		return waits(ctx)
	}).SetName(name)
}

// selects waits for several things at once.
func selects(cases ...rondo.Case) func(ctx context.Context) error {
	return func(ctx context.Context) error { _, err := rondo.Select(ctx, cases...); return err }
}

// list is a primitive of the program's own.
type list struct{ waiting rondo.WaitList }

func (l *list) lock(ctx context.Context) error {
	return l.waiting.Park(ctx, rondo.Reason{What: "lock"})
}

var rings = []ring{
	{"two locks", "a waits for b, which waits for a", func(_ context.Context, g *rondo.Scope) {
		var m, n rondo.Mutex
		acts(g, "a", n.Lock, m.Lock)
		acts(g, "b", m.Lock, n.Lock)
		acts(g, "behind", n.Lock)
	}},
	{"a lock of a task that waits for an Event", "", func(_ context.Context, g *rondo.Scope) {
		var m rondo.Mutex
		acts(g, "a", new(rondo.Event).Wait, m.Lock)
		acts(g, "b", m.Lock)
	}},
	{"the second in the line of an RWMutex", "a waits for b, which waits for a", func(_ context.Context, g *rondo.Scope) {
		var m rondo.Mutex
		var n rondo.RWMutex
		acts(g, "a", m.Lock, n.Lock)
		acts(g, "first", n.RLock)
		acts(g, "b", n.Lock, m.Lock)
	}},
	{"an Event of the name of a lock", "", func(ctx context.Context, g *rondo.Scope) {
		name := "n"
		var owned, other list
		owned.waiting.Of, other.waiting.Of = &name, &name
		acts(g, "a", func(ctx context.Context) error {
			return other.waiting.Park(ctx, rondo.Reason{What: "event"})
		}, func(ctx context.Context) error { owned.waiting.Owner = rondo.Current(ctx); return nil })
		acts(g, "b", owned.lock)
	}},
	{"one name of two locks", "", func(ctx context.Context, g *rondo.Scope) {
		name := "n"
		var x, y, z list
		x.waiting.Of, y.waiting.Of, z.waiting.Of = &name, &name, &name
		own := func(l *list) func(ctx context.Context) error {
			return func(ctx context.Context) error { l.waiting.Owner = rondo.Current(ctx); return nil }
		}
		acts(g, "a", z.lock, own(&x))
		acts(g, "b", z.lock, own(&y))
		acts(g, "c", x.lock)
		acts(g, "d", y.lock)
	}},
	{"a Select of two tasks", "a waits for x, which waits for a; x waits for b, which waits for x", func(_ context.Context, g *rondo.Scope) {
		var x *rondo.Task
		waits := func(ctx context.Context) error { return x.Wait(ctx) }
		a, b := g.Go(waits), g.Go(waits)
		a.SetName("a")
		b.SetName("b")
		x = g.Go(selects(a.WaitCase(), b.WaitCase()))
		x.SetName("x")
	}},
	{"a Select of a task and an Event", "", func(_ context.Context, g *rondo.Scope) {
		var x *rondo.Task
		a := g.Go(func(ctx context.Context) error { return x.Wait(ctx) })
		x = g.Go(selects(a.WaitCase(), new(rondo.Event).WaitCase()))
	}},
	{"a task that the limit of its scope holds back", "a waits for held, which waits for a", func(_ context.Context, g *rondo.Scope) {
		g.SetLimit(1)
		var held *rondo.Task
		acts(g, "a", func(ctx context.Context) error { return held.Wait(ctx) })
		held = g.Go(forever)
		held.SetName("held")
	}},
	{"a limit beside a task that an Event may wake", "", func(_ context.Context, g *rondo.Scope) {
		g.SetLimit(2)
		var held *rondo.Task
		acts(g, "a", func(ctx context.Context) error { return held.Wait(ctx) })
		acts(g, "b", new(rondo.Event).Wait)
		held = g.Go(forever)
	}},
	{"a group", "main waits for a, which waits for main", func(ctx context.Context, g *rondo.Scope) {
		var m rondo.Mutex
		_ = m.Lock(ctx)
		acts(g, "a", m.Lock)
	}},
	{"lists of Rondo's words", "", func(ctx context.Context, g *rondo.Scope) {
		for _, word := range []string{"group", "select", "task", "next"} {
			acts(g, "host", func(ctx context.Context) error {
				var m rondo.Mutex
				_ = m.Lock(ctx)
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					child := g.Go(m.Lock)
					return new(rondo.WaitList).Park(g, rondo.Reason{What: word, On: child.ID()})
				})
			})
		}
	}},
	{"a group with a task that an Event may wake", "", func(ctx context.Context, g *rondo.Scope) {
		var m rondo.Mutex
		_ = m.Lock(ctx)
		acts(g, "a", m.Lock)
		acts(g, "b", new(rondo.Event).Wait)
	}},
}

// TestRings: the report of a deadlock names the tasks that wait for each other, and no others.
func TestRings(t *testing.T) {
	for _, r := range rings {
		err := ending.Run(context.Background(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { r.run(ctx, g); return nil })
		})
		if !errors.Is(err, rondo.ErrDeadlock) {
			t.Fatalf("%s: Run returned %v", r.name, err)
		}
		var named []string
		for line := range strings.Lines(err.Error()) {
			if _, after, ok := strings.Cut(line, "in a ring, which only a cancellation can end: "); ok {
				named = append(named, strings.TrimSpace(after))
			}
		}
		if got := strings.Join(named, "; "); got != r.rings {
			t.Errorf("%s: the rings are %q, want %q", r.name, got, r.rings)
		}
	}
}

// TestRingsOfALateEnd: the report of a loop that cannot end names rings too, and none through a
// task that a timer wakes.
func TestRingsOfALateEnd(t *testing.T) {
	for _, r := range []ring{
		{"two locks", "a waits for b, which waits for a", rings[0].run},
		{"a Select with a timer", "", func(_ context.Context, g *rondo.Scope) {
			var x *rondo.Task
			a := g.Go(func(ctx context.Context) error { return x.Wait(ctx) })
			x = g.Go(selects(a.WaitCase(), rondo.After(time.Hour)))
		}},
		{"a limit beside a task that sleeps", "", func(_ context.Context, g *rondo.Scope) {
			g.SetLimit(2)
			var held *rondo.Task
			acts(g, "a", func(ctx context.Context) error { return held.Wait(ctx) })
			acts(g, "b", func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
			held = g.Go(forever)
		}},
		{"a group with a task that sleeps", "", func(_ context.Context, g *rondo.Scope) {
			g.Go(func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					var m rondo.Mutex
					acts(g, "a", m.Lock)
					acts(g, "b", func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
					return m.Lock(g)
				})
			})
		}},
	} {
		log := &logged{of: "cannot end", seen: make(chan bool, 1)}
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
		late := rondo.Runner{SlowStep: 20 * time.Millisecond}
		err := late.Run(t.Context(), func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				return rondo.Shield(ctx, func(ctx context.Context) error {
					return rondo.Group(ctx, func(g *rondo.Scope) error {
						r.run(ctx, g)
						defer g.Cancel(nil)
						return rondo.OffloadFunc(g, func(context.Context) error { <-log.seen; return nil })
					})
				})
			})
			is := func(state string) func(t rondo.TaskInfo) bool {
				return func(t rondo.TaskInfo) bool { return t.State == state || t.Waiting == state }
			}
			until(ctx, func() bool { return slices.ContainsFunc(rondo.Tasks(ctx), is("offload")) })
			for range 3 { // all have begun
				_ = rondo.Yield(ctx)
			}
			until(ctx, func() bool { return !slices.ContainsFunc(rondo.Tasks(ctx), is("ready")) })
			return nil
		})
		slog.SetDefault(before)
		text := log.String()
		_, named, _ := strings.Cut(text, "in a ring, which only a cancellation can end: ")
		if err != nil || !strings.Contains(text, "cannot end") || (named == "") != (r.rings == "") || !strings.HasPrefix(named, r.rings) {
			t.Errorf("%s: the ring is to be %q; %v, logged %s", r.name, r.rings, err, text)
		}
	}
}

// TestNamesOfWaits: a task that waits at something shows its name.
func TestNamesOfWaits(t *testing.T) {
	const name = "n"
	queue := func() *rondo.Queue[int] { // with room for one value
		q := rondo.NewQueue[int](1)
		q.Name = name
		return q
	}
	full := func() *rondo.Queue[int] { q := queue(); q.TryPut(1); return q }
	sem, barrier := rondo.NewSemaphore(0), rondo.NewBarrier(2)
	sem.Name, barrier.Name = name, name
	e, chosen := &rondo.Event{Name: name}, &rondo.Event{Name: name}
	m, write, read := &rondo.Mutex{Name: name}, &rondo.RWMutex{Name: name}, &rondo.RWMutex{Name: name}
	cond := &rondo.Cond{Name: name, L: new(rondo.Mutex)}
	put, get, join := full(), queue(), full()
	waits := map[string]func(ctx context.Context) error{ // each with a thing of its own
		"Event":          e.Wait,
		"Event.WaitCase": selects(chosen.WaitCase()),
		"Cond":           func(ctx context.Context) error { return errors.Join(cond.L.Lock(ctx), cond.Wait(ctx)) },
		"Mutex":          m.Lock,
		"RWMutex.Lock":   write.Lock,
		"RWMutex.RLock":  read.RLock,
		"Semaphore":      sem.Acquire,
		"Queue.Put":      func(ctx context.Context) error { return put.Put(ctx, 1) },
		"Queue.PutCase":  selects(full().PutCase(1)),
		"Queue.Get":      func(ctx context.Context) error { _, err := get.Get(ctx); return err },
		"Queue.GetCase":  selects(queue().GetCase(new(int))),
		"Queue.Join":     join.Join,
		"Barrier":        func(ctx context.Context) error { _, err := barrier.Wait(ctx); return err },
	}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		waiting := func(task *rondo.Task) { until(ctx, func() bool { return task.Info().State == "waiting" }) }
		for _, take := range []func(ctx context.Context) error{m.Lock, write.Lock, read.Lock} {
			if err := take(ctx); err != nil {
				return err
			}
		}
		for what, wait := range waits {
			task := rondo.Go(ctx, wait)
			waiting(task)
			if info := task.Info(); !strings.Contains(info.Of, name) {
				t.Errorf("%s: it waits for %s of %q, want %q in it", what, info.Waiting, info.Of, name)
			}
			task.Cancel(nil)
			_ = task.Wait(ctx)
		}
		own := rondo.Async(ctx, func(ctx context.Context) (int, error) { return 0, forever(ctx) })
		own.Task().SetName("own")
		waits := func(ctx context.Context) error { _, err := own.Wait(ctx); return err }
		direct, chosen := rondo.Go(ctx, waits), rondo.Go(ctx, selects(own.WaitCase(), e.WaitCase()))
		waiting(own.Task())
		waiting(direct)
		waiting(chosen)
		if info := direct.Info(); info.Owner != own.Task().ID() {
			t.Errorf("a wait for a Future of task %d is one for task %d", own.Task().ID(), info.Owner)
		}
		if info := chosen.Info(); !strings.Contains(info.Of, "own") {
			t.Errorf("a Select with that Future waits for %q", info.Of)
		}
		for range 100 {
			rondo.Go(ctx, forever)
		}
		if s := rondo.LoopOf(ctx).Stats(); s.Ready != 100 {
			t.Errorf("%d tasks are ready, want 100", s.Ready)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOwnersOfWaits: a task in a line waits for the one that has the lock now. In the line of an
// RWMutex that is so for the first ones that ask for the same; those behind them wait for them.
func TestOwnersOfWaits(t *testing.T) {
	type locker interface {
		Lock(ctx context.Context) error
		Unlock()
	}
	exact.Test(t, func(ctx context.Context) {
		rw := new(rondo.RWMutex)
		for _, m := range []locker{new(rondo.Mutex), rw} {
			var next rondo.WaitList
			unlocked := func() {}
			use := func(lock func(ctx context.Context) error, unlock func()) *rondo.Task {
				task := rondo.Go(ctx, func(ctx context.Context) error {
					err := errors.Join(lock(ctx), next.Park(ctx, rondo.Reason{What: "next"}))
					unlock()
					unlocked()
					return err
				})
				_ = rondo.Sleep(ctx, 1)
				return task
			}
			goOn := func() {
				next.Wake()
				_ = rondo.Sleep(ctx, 1)
			}
			waits := func(when string, task, owner *rondo.Task) {
				t.Helper()
				want := uint64(0)
				if owner != nil {
					want = owner.ID()
				}
				if i := task.Info(); i.State != "waiting" || i.Owner != want {
					t.Errorf("%T, %s: the task is %s and waits for task %d, want %d", m, when, i.State, i.Owner, want)
				}
			}
			a, b, c := use(m.Lock, m.Unlock), use(m.Lock, m.Unlock), use(m.Lock, m.Unlock)
			waits("the first in the line", b, a)
			waits("the second in the line", c, a)
			unlocked = func() { waits("before the next one has run", c, nil) }
			goOn()
			unlocked = func() {}
			waits("after the next one has run", c, b)
			if m != locker(rw) {
				goOn()
				goOn()
				continue
			}
			reader := use(rw.RLock, rw.RUnlock)
			waits("a reader behind a writer", reader, nil)
			goOn()
			waits("the reader while that one writes", reader, c)
			goOn()
			writer := use(rw.Lock, rw.Unlock)
			waits("a writer while another task reads", writer, nil)
			waits("a reader behind that writer", use(rw.RLock, rw.RUnlock), nil)
			for range 3 {
				goOn()
			}
		}
		ownersOfCancelled(t, ctx)
	})
}

// ownersOfCancelled cancels the first in the line of an RWMutex. The next one is the first then,
// and waits for the writer.
func ownersOfCancelled(t *testing.T, ctx context.Context) {
	var rw rondo.RWMutex
	if err := rw.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	self := rondo.Current(ctx).ID()
	first := rondo.Go(ctx, rw.RLock)
	_ = rondo.Sleep(ctx, 1)
	second := rondo.Go(ctx, rw.Lock)
	_ = rondo.Sleep(ctx, 1)
	for _, want := range []uint64{0, self} {
		if got := second.Info().Owner; got != want {
			t.Errorf("a writer in the line waits for task %d, want %d", got, want)
		}
		first.Cancel(nil)
		_ = rondo.Sleep(ctx, 1)
	}
	second.Cancel(nil)
	_ = rondo.Sleep(ctx, 1)
	rw.Unlock()
}

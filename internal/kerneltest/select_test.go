package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// selectCases are the kinds of cases, each with what makes it ready.
var selectCases = map[string]func(ctx context.Context) (rondo.Case, func(ctx context.Context)){
	"After": func(context.Context) (rondo.Case, func(ctx context.Context)) { return rondo.After(time.Second), second },
	"Event.WaitCase": func(context.Context) (rondo.Case, func(ctx context.Context)) {
		var e rondo.Event
		return e.WaitCase(), func(context.Context) { e.Set(); e.Clear() }
	},
	"Future.WaitCase": func(ctx context.Context) (rondo.Case, func(ctx context.Context)) {
		f := rondo.NewFuture[int](ctx)
		return f.WaitCase(), func(context.Context) { f.Set(1) }
	},
	"Queue.GetCase": func(context.Context) (rondo.Case, func(ctx context.Context)) {
		q := rondo.NewQueue[int](0)
		return q.GetCase(new(int)), func(context.Context) { q.TryPut(1) }
	},
	"Queue.PutCase": func(context.Context) (rondo.Case, func(ctx context.Context)) {
		q := full()
		return q.PutCase(1), func(context.Context) { q.TryGet() }
	},
	"Task.WaitCase": func(ctx context.Context) (rondo.Case, func(ctx context.Context)) {
		task, end := endingTask(ctx)
		return task.WaitCase(), end
	},
	"own": func(context.Context) (rondo.Case, func(ctx context.Context)) {
		g := new(turnstile)
		return rondo.Case{On: g}, func(context.Context) { g.open = true; g.list.Wake() }
	},
}

// A turnstile is a Selectable of a program's own: one task passes each time it is opened.
type turnstile struct {
	open  bool
	list  rondo.WaitList
	calls []string
}

func (g *turnstile) Try(context.Context, any) (bool, error) {
	g.calls = append(g.calls, "Try")
	open := g.open
	g.open = false
	return open, nil
}

func (g *turnstile) Begin(context.Context) (*rondo.WaitList, rondo.Reason) {
	g.calls = append(g.calls, "Begin")
	return &g.list, rondo.Reason{What: "turnstile"}
}

func (g *turnstile) End(to any, woken bool) error {
	g.calls = append(g.calls, fmt.Sprint("End ", woken))
	return nil
}

// TestSelectSatisfied: in each place among other cases, each case is ready before or
// after a cancellation, and that decides what Select returns.
func TestSelectSatisfied(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(selectCases)) {
		for place := range 3 {
			for _, first := range []bool{true, false} {
				t.Run(fmt.Sprint(name, place, first), func(t *testing.T) {
					sim.Test(t, func(ctx context.Context) {
						c, satisfy := selectCases[name](ctx)
						never := [...]rondo.Case{new(rondo.Event).WaitCase(), rondo.NewQueue[int](0).GetCase(new(int)), rondo.After(time.Hour)}
						never[place] = c
						testSatisfied(t, ctx, waiting{func(ctx context.Context) error {
							i, err := rondo.Select(ctx, never[:]...)
							if err == nil && i != place || err != nil && i != -1 {
								t.Errorf("Select returned %d, %v", i, err)
							}
							return err
						}, satisfy}, first)
					})
				})
			}
		}
	}
}

// TestSelectReady: of cases that are ready at the call the first is taken and
// nothing else, without a suspension; a Select in a cancelled scope takes none. Of cases that
// get ready at the same time it is the first, too.
func TestSelectReady(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		a, b := full(), full()
		var v int
		others := 0
		rondo.Go(ctx, func(context.Context) error { others++; return nil })
		if i, err := rondo.Select(ctx, rondo.Case{}, new(rondo.Event).WaitCase(), b.GetCase(&v), a.GetCase(&v)); i != 2 || err != nil || v != 1 {
			t.Errorf("Select returned %d, %v; the value is %d", i, err, v)
		}
		if i, err := rondo.Select(ctx, a.PutCase(2), rondo.After(0)); i != 1 || err != nil {
			t.Errorf("Select with After(0) returned %d, %v", i, err)
		}
		if a.Len() != 1 || b.Len() != 0 || others != 0 {
			t.Errorf("the queues have %d and %d values, %d other tasks ran; want 1, 0 and 0", a.Len(), b.Len(), others)
		}
		if i, err := rondo.Select(ctx, rondo.After(2), rondo.After(1), rondo.After(1)); i != 1 || err != nil {
			t.Errorf("Select of three times returned %d, %v", i, err)
		}
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errStop)
			if i, err := rondo.Select(g, a.GetCase(&v), rondo.After(0)); i != -1 || err != errStop || a.Len() != 1 {
				t.Errorf("Select in a cancelled scope returned %d, %v", i, err)
			}
			return nil
		})
	})
}

// TestSelectTakesOneInEveryOrder: two values, each of which a Select, a Get or a
// cancellation may come for first. In every order each value is taken once or is still
// there, and a Get whose turn it is has not been passed over.
func TestSelectTakesOneInEveryOrder(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		a, b := rondo.NewQueue[int](0), rondo.NewQueue[int](0)
		var got []int
		chosen := rondo.Go(ctx, func(ctx context.Context) error {
			var v int
			_, err := rondo.Select(ctx, a.GetCase(&v), b.GetCase(&v))
			if err == nil {
				got = append(got, v)
			}
			return nil
		})
		other := rondo.Go(ctx, func(ctx context.Context) error {
			v, err := a.Get(ctx)
			if err == nil {
				got = append(got, v)
			}
			return nil
		})
		rondo.Go(ctx, func(context.Context) error { a.TryPut(1); return nil })
		rondo.Go(ctx, func(context.Context) error { b.TryPut(2); return nil })
		rondo.Go(ctx, func(context.Context) error { chosen.Cancel(errStop); return nil })
		_ = chosen.Wait(ctx)
		_ = rondo.Sleep(ctx, time.Second)
		if !other.Done() && a.Len() > 0 {
			t.Error("a value is there, and a Get waits for it")
		}
		other.Cancel(nil)
		_ = other.Wait(ctx)
		for _, q := range []*rondo.Queue[int]{a, b} {
			if v, ok := q.TryGet(); ok {
				got = append(got, v)
			}
		}
		if slices.Sort(got); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("the values that came out are %v", got)
		}
	})
}

// TestSelectPutInEveryOrder: a value that a Select puts is in one queue or in none.
func TestSelectPutInEveryOrder(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		a, b := full(), full()
		put, result := -1, error(nil)
		chosen := rondo.Go(ctx, func(ctx context.Context) error {
			put, result = rondo.Select(ctx, a.PutCase(5), b.PutCase(6))
			return nil
		})
		rondo.Go(ctx, func(context.Context) error { a.TryGet(); return nil })
		rondo.Go(ctx, func(context.Context) error { b.Close(); return nil })
		rondo.Go(ctx, func(context.Context) error { chosen.Cancel(errStop); return nil })
		_ = chosen.Wait(ctx)
		_ = rondo.Sleep(ctx, time.Second)
		v, ok := a.TryGet()
		left, _ := b.TryGet()
		switch {
		case put == 0 && result == nil && v == 5 && left == 1:
		case put == 1 && result == rondo.ErrQueueClosed && !ok && left == 1:
		case put == -1 && result == errStop && !ok && left == 1:
		default:
			t.Errorf("Select returned %d, %v; the queues had %d, %d", put, result, v, left)
		}
		if !a.TryPut(1) {
			t.Error("room was reserved and not given back")
		}
	})
}

// TestSelectLosesNothing: tasks that select, get, put and are cancelled at random,
// on bounded queues. Each value that went in comes out once.
func TestSelectLosesNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		queues := []*rondo.Queue[int]{rondo.NewQueue[int](1), rondo.NewQueue[int](2), rondo.NewStack[int](1)}
		r := sim.Rand(ctx)
		in, out := make(map[int]bool), make(map[int]bool)
		took := func(v int) {
			if !in[v] || out[v] {
				t.Errorf("%d came out twice or never went in", v)
			}
			out[v] = true
		}
		last := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 60 {
				g.Go(func(ctx context.Context) error {
					_ = rondo.Timeout(ctx, time.Duration(1+r.IntN(20)), func(ctx context.Context) error {
						var v int
						last++
						mine := last
						put := queues[r.IntN(3)].PutCase(mine)
						cases := []rondo.Case{queues[r.IntN(3)].GetCase(&v), put, queues[r.IntN(3)].GetCase(&v), rondo.After(time.Duration(1 + r.IntN(10)))}
						r.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
						i, err := rondo.Select(ctx, cases...)
						switch {
						case (i < 0) != (err != nil):
							t.Errorf("case %d, and the error %v", i, err)
						case err == nil && cases[i] == put:
							in[mine] = true
						case v != 0:
							took(v)
						}
						return err
					})
					return nil
				})
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		for _, q := range queues {
			for v, ok := q.TryGet(); ok; v, ok = q.TryGet() {
				took(v)
			}
			for q.Len() <= 2 && q.TryPut(-1) {
			}
			if want := map[bool]int{true: 2, false: 1}[q == queues[1]]; q.Len() != want {
				t.Errorf("the queue has room for %d values, want %d: what was promised or reserved is not given back", q.Len(), want)
			}
		}
		if len(in) != len(out) || len(out) == 0 {
			t.Errorf("%d values went in, %d came out", len(in), len(out))
		}
	})
}

// TestSelectErrors: the error is that of the call that the case stands for, also if the case is
// ready at the call.
func TestSelectErrors(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		closed := rondo.NewQueue[int](1)
		failing := func(context.Context) error { return errBroken }
		var v int
		for _, c := range []struct {
			name string
			make func(ctx context.Context) rondo.Case
			want error
		}{
			{"get", func(context.Context) rondo.Case { return closed.GetCase(&v) }, rondo.ErrQueueClosed},
			{"put", func(context.Context) rondo.Case { closed.TryPut(1); return closed.PutCase(1) }, rondo.ErrQueueClosed},
			{"task", func(ctx context.Context) rondo.Case { return rondo.Go(ctx, failing).WaitCase() }, errBroken},
			{"future", func(ctx context.Context) rondo.Case { return rondo.Async(ctx, after(1, 0, errBroken)).WaitCase() }, errBroken},
		} {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				rondo.LoopOf(g).CallLater(2, closed.Close)
				its := c.make(g)
				for _, when := range []string{"after a wait", "at the call"} {
					if i, err := rondo.Select(ctx, its, rondo.After(time.Hour)); i != 0 || err != c.want {
						t.Errorf("%s: Select returned %d, %v %s", c.name, i, err, when)
					}
				}
				return nil
			})
			closed = rondo.NewQueue[int](1)
		}
	})
}

// TestSelectTakesTheError: OnError does not get the error of a task that a Select has got, whether
// the task has failed before the call or after it.
func TestSelectTakesTheError(t *testing.T) {
	for _, before := range []bool{false, true} {
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { t.Errorf("failed before %t: OnError has %v", before, err) }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			task := rondo.Go(ctx, func(context.Context) error { return errBroken })
			if before {
				until(ctx, task.Done)
			}
			if i, err := rondo.Select(ctx, task.WaitCase(), rondo.After(time.Hour)); i != 0 || err != errBroken {
				t.Errorf("Select returned %d, %v", i, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestSelectErrorGoesToTheScope: an error of a task of which the Select has taken
// another case goes where it goes without a Select.
func TestSelectErrorGoesToTheScope(t *testing.T) {
	for _, async := range []bool{false, true} {
		var told []error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { told = append(told, err) }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			var c rondo.Case
			var late rondo.Event
			ended := false
			f := func(ctx context.Context) (int, error) {
				defer func() { ended = true }()
				return 0, errors.Join(late.Wait(ctx), errBroken)
			}
			if async {
				c = rondo.Async(ctx, f).WaitCase()
			} else {
				c = rondo.Go(ctx, func(ctx context.Context) error { _, err := f(ctx); return err }).WaitCase()
			}
			if i, err := rondo.Select(ctx, c, rondo.After(time.Microsecond)); i != 1 || err != nil {
				t.Errorf("Select returned %d, %v", i, err)
			}
			late.Set()
			until(ctx, func() bool { return ended })
			return nil
		})
		if err != nil || len(told) != 1 || !errors.Is(told[0], errBroken) {
			t.Errorf("Run returned %v, OnError has %v", err, told)
		}
	}
}

// TestSelectAcrossLoops: a task and a Future of another loop are cases as well.
func TestSelectAcrossLoops(t *testing.T) {
	run(t, func(outer context.Context) error {
		answer, broken := rondo.NewFuture[int](outer), rondo.NewFuture[int](outer)
		task := rondo.Go(outer, func(ctx context.Context) error { _, err := broken.Wait(ctx); return err })
		_, err := rondo.Offload(outer, func(context.Context) (int, error) {
			return 0, rondo.Run(context.Background(), func(ctx context.Context) error {
				never := new(rondo.Event)
				if i, err := rondo.Select(ctx, answer.WaitCase(), task.WaitCase(), rondo.After(time.Millisecond)); i != 2 || err != nil {
					t.Errorf("Select returned %d, %v before there was an answer", i, err)
				}
				answer.Set(42)
				for range 2 { // the second time it is ready at the call
					if i, err := rondo.Select(ctx, never.WaitCase(), answer.WaitCase()); i != 1 || err != nil {
						t.Errorf("Select returned %d, %v", i, err)
					}
				}
				if i, err := rondo.Select(ctx, answer.WaitCase(), rondo.After(0)); i != 0 || err != nil {
					t.Errorf("Select of an answer that is there returned %d, %v", i, err)
				}
				if v, err := answer.Result(); v != 42 || err != nil {
					t.Errorf("the result is %d, %v", v, err)
				}
				broken.Fail(errBroken)
				if i, err := rondo.Select(ctx, never.WaitCase(), task.WaitCase(), broken.WaitCase()); i < 1 || err != errBroken {
					t.Errorf("Select returned %d, %v", i, err)
				}
				if i, err := rondo.Select(ctx, never.WaitCase(), task.WaitCase()); i != 1 || err != errBroken {
					t.Errorf("Select returned %d, %v for the task", i, err)
				}
				return nil
			})
		})
		return err
	})
}

// TestSelectOfEndedLoop: a Select learns that the loop of a Future has ended without a result.
func TestSelectOfEndedLoop(t *testing.T) {
	future, end := make(chan *rondo.Future[int], 1), make(chan bool)
	ended := otherLoop(func(ctx context.Context) error {
		future <- rondo.NewFuture[int](ctx)
		_, _, err := rondo.Receive(ctx, end)
		return err
	})
	f := <-future
	run(t, func(ctx context.Context) error {
		for round := range 2 { // in the second the loop has ended before the call
			rondo.Go(ctx, func(context.Context) error {
				if round == 0 {
					close(end)
				}
				return nil
			})
			if i, err := rondo.Select(ctx, new(rondo.Event).WaitCase(), f.WaitCase()); i != 1 || !errors.Is(err, rondo.ErrLoopClosed) {
				t.Errorf("Select returned %d, %v", i, err)
			}
		}
		return <-ended
	})
}

// TestSelectWithCaseOfAnotherLoop: a case that was made on one loop cannot be used on another, and
// says so at once.
func TestSelectWithCaseOfAnotherLoop(t *testing.T) {
	cases, end := make(chan []rondo.Case, 1), make(chan bool)
	ended := otherLoop(func(ctx context.Context) error {
		f := rondo.Async(ctx, func(ctx context.Context) (int, error) { _, _, err := rondo.Receive(ctx, end); return 0, err })
		cases <- []rondo.Case{f.WaitCase(), f.Task().WaitCase()}
		_, err := f.Wait(ctx)
		return err
	})
	run(t, func(ctx context.Context) error {
		for _, c := range <-cases {
			i, err := rondo.Select(ctx, c, rondo.After(0))
			if i != 0 || err == nil || !strings.Contains(err.Error(), "the object belongs to another loop than the ctx") {
				t.Errorf("Select returned %d, %v", i, err)
			}
		}
		close(end)
		return <-ended
	})
}

// TestSelectOwn: how a Selectable of a program's own is called.
func TestSelectOwn(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		won, lost := new(turnstile), new(turnstile)
		rondo.LoopOf(ctx).CallLater(1, func() { won.list.Wake() })
		if i, err := rondo.Select(ctx, rondo.Case{On: lost}, rondo.Case{On: won}); i != 1 || err != nil {
			t.Errorf("Select returned %d, %v", i, err)
		}
		if want := []string{"Try", "Begin", "End true"}; !slices.Equal(won.calls, want) {
			t.Errorf("calls %q, want %q", won.calls, want)
		}
		if want := []string{"Try", "Begin", "End false"}; !slices.Equal(lost.calls, want) {
			t.Errorf("calls %q, want %q", lost.calls, want)
		}
		if lost.list.Len() != 0 || lost.list.Wake() {
			t.Error("the task is still in the list of the other case")
		}
	})
}

// TestSelectMistakes: each mistake is told in one sentence.
func TestSelectMistakes(t *testing.T) {
	run(t, func(ctx context.Context) error {
		q := rondo.NewQueue[int](0)
		panics(t, "rondo: Queue.GetCase with a nil pointer", func() { q.GetCase(nil) })
		panics(t, "rondo: Select with the calling task itself", func() { _, _ = rondo.Select(ctx, rondo.Current(ctx).WaitCase()) })
		panics(t, "rondo: Future.WaitCase of a zero Future", func() { new(rondo.Future[int]).WaitCase() })
		var own *rondo.Future[int]
		own = rondo.Async(ctx, func(ctx context.Context) (int, error) {
			panics(t, "rondo: Select in the Future's own task", func() { _, _ = rondo.Select(ctx, q.GetCase(new(int)), own.WaitCase()) })
			if i, err := rondo.Select(ctx, q.GetCase(new(int)), rondo.After(1)); i != 1 || err != nil {
				t.Errorf("a Select after one that panicked returned %d, %v", i, err)
			}
			return 0, nil
		})
		_, err := own.Wait(ctx)
		return err
	})
}

// TestSelectInDeadlock: the report has each case, and what other goroutines may end is
// no deadlock.
func TestSelectInDeadlock(t *testing.T) {
	jobs := rondo.NewQueue[int](0)
	jobs.Name = "jobs"
	stop := rondo.Event{Name: "stop"}
	err := ending.Run(t.Context(), func(ctx context.Context) error {
		open := rondo.NewFuture[int](ctx)
		done := make(chan bool)
		go func() {
			<-done
			open.Set(1)
		}()
		rondo.Go(ctx, func(context.Context) error { close(done); return nil })
		if i, err := rondo.Select(ctx, stop.WaitCase(), open.WaitCase()); i != 1 || err != nil {
			t.Errorf("Select returned %d, %v", i, err)
		}
		_, err := rondo.Select(ctx, jobs.GetCase(new(int)), rondo.Case{}, stop.WaitCase())
		return err
	})
	if want := `main waits for select of 3: get "jobs", event "stop"`; !errors.Is(err, rondo.ErrDeadlock) || !strings.Contains(err.Error(), want) {
		t.Errorf("Run returned %v, want %q in it", err, want)
	}
}

// TestSelectWithoutCases waits until the scope is cancelled.
func TestSelectWithoutCases(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			_, err := rondo.Select(ctx, rondo.Case{})
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Select returned %v", err)
		}
	})
}

// TestSelectInTaskInfo: TaskInfo names what each case waits for.
func TestSelectInTaskInfo(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		var e rondo.Event
		q := rondo.NewQueue[int](0)
		q.Name = "jobs"
		task := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := rondo.Select(ctx, q.GetCase(new(int)), e.WaitCase(), rondo.After(time.Hour))
			return err
		})
		_ = rondo.Sleep(ctx, 1)
		if i := task.Info(); i.Waiting != "select" || i.Of != `get "jobs", event, sleep` {
			t.Errorf("it waits for %q of %q", i.Waiting, i.Of)
		}
		e.Set()
		_ = task.Wait(ctx)
	})
}

// A meddler is a case that calls a function as it begins.
type meddler struct {
	turnstile
	does func()
}

func (c *meddler) Begin(ctx context.Context) (*rondo.WaitList, rondo.Reason) {
	c.does()
	return c.turnstile.Begin(ctx)
}

// TestSelectWokenByACase: if the Begin of a case wakes the task in the list of an earlier case,
// that one is taken. The task is woken once, so no later wait of it ends early.
func TestSelectWokenByACase(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		for _, cancels := range []bool{false, true} {
			var first, last turnstile
			others := rondo.Go(ctx, func(context.Context) error { last.list.Wake(); return nil })
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				wakes := meddler{does: func() {
					if first.list.Wake(); cancels {
						g.Cancel(nil)
					}
				}}
				i, err := rondo.Select(g, rondo.Case{On: &first}, rondo.Case{On: &wakes}, rondo.After(time.Hour), rondo.Case{On: &last})
				if i != 0 || err != nil {
					t.Errorf("cancels: %t: Select returned %d, %v", cancels, i, err)
				}
				if got, want := fmt.Sprint(first.calls, wakes.calls, last.calls), "[Try Begin End true] [Try Begin End false] [Try]"; got != want {
					t.Errorf("calls: %s, want %s", got, want)
				}
				return nil
			})
			if late := rondo.Timeout(ctx, time.Second, forever); err != nil || !errors.Is(late, context.DeadlineExceeded) {
				t.Errorf("Group returned %v, and a later wait %v", err, late)
			}
			_ = others.Wait(ctx)
		}
		if n := rondo.LoopOf(ctx).Stats().Timers; n != 0 {
			t.Errorf("%d timers are set", n)
		}
	})
}

// TestSelectCancelledByACase: a Select does not wait if one of its cases cancels its scope,
// and leaves nothing behind. The cancellation has ended a wait.
func TestSelectCancelledByACase(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		for _, c := range []struct {
			cancel func(g *rondo.Scope)
			want   error
		}{
			{func(g *rondo.Scope) { g.Cancel(errStop) }, errStop},
			{func(g *rondo.Scope) { g.SetDeadline(rondo.Now(g)) }, context.DeadlineExceeded},
		} {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				on := &meddler{does: func() { c.cancel(g) }}
				if _, err := rondo.Select(g, rondo.Case{On: on}, rondo.After(time.Hour)); !errors.Is(err, c.want) || on.list.Len() != 0 {
					t.Errorf("Select returned %v, and %d tasks are in the list", err, on.list.Len())
				}
				return nil
			})
			if !errors.Is(err, c.want) {
				t.Errorf("Group returned %v, want %v", err, c.want)
			}
		}
		if n := rondo.LoopOf(ctx).Stats().Timers; n != 0 {
			t.Errorf("%d timers are set", n)
		}
	})
}

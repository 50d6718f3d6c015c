package rondo

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/inbox"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/internal/stacks"
)

// A stepClock is a driver whose clock only moves when a step moves it. It notes when
// it was asked for events.
type stepClock struct {
	now    int64
	asked  []int64
	report func()  // called once when the driver is asked next; nil: nothing has happened
	passes []int64 // how far the clock moves before each of the next readings
}

func (d *stepClock) Now() int64 {
	if len(d.passes) > 0 {
		d.now += d.passes[0]
		d.passes = d.passes[1:]
	}
	return d.now
}

func (d *stepClock) Time(at int64) time.Time   { return time.Unix(0, at) }
func (d *stepClock) Instant(t time.Time) int64 { return t.UnixNano() }
func (d *stepClock) Wake()                     {}
func (d *stepClock) Epoch() int64              { return 0 }
func (d *stepClock) Close() error              { return nil }

func (d *stepClock) Poller() driver.Poller         { return nil }
func (d *stepClock) Simulation() driver.Simulation { return nil }

func (d *stepClock) Poll(until int64) error {
	d.asked = append(d.asked, d.now)
	d.now = max(d.now, until)
	if report := d.report; report != nil {
		d.report = nil
		report()
	}
	return nil
}

// onStepClock runs main on a stepClock.
func onStepClock(t *testing.T, main func(ctx context.Context, d *stepClock) error) {
	t.Helper()
	d := &stepClock{now: 1}
	ctx := driver.With(t.Context(), func() (driver.Driver, error) { return d, nil })
	// The watchdog, which has a goroutine of its own, would read this clock while it moves.
	r := Runner{HangAfter: -1}
	if err := r.Run(ctx, func(ctx context.Context) error { return main(ctx, d) }); err != nil {
		t.Error(err)
	}
}

// TestTimeBoundsTheDelay runs steps of many lengths, alone and beside other tasks,
// after a sleep and after shorter steps. The driver is asked when pace.After has
// passed, or one step if that is longer, and after pace.Every steps at the latest.
func TestTimeBoundsTheDelay(t *testing.T) {
	for _, others := range []int{0, 1, 100} {
		for _, step := range []int64{0, 5, 100, 2_000, 30_000, 99_999, 1_000_000, 50_000_000} {
			onStepClock(t, func(ctx context.Context, d *stepClock) error {
				if err := Sleep(ctx, time.Second); err != nil {
					return err
				}
				g, stop := context.WithCancel(ctx)
				defer stop()
				for range others {
					Go(g, func(ctx context.Context) error {
						for {
							d.now += step
							if err := Yield(ctx); err != nil {
								return nil
							}
						}
					})
				}
				steps, from, asked := 0, d.now, len(d.asked)
				for range 4 * pace.Every {
					d.now += step
					if err := Yield(ctx); err != nil {
						return err
					}
					if steps++; len(d.asked) > asked {
						steps, from, asked = 0, d.asked[len(d.asked)-1], len(d.asked)
					}
					if others == 0 && steps > pace.Every {
						t.Errorf("steps of %d ns: %d steps without a question", step, steps)
						return nil
					}
					// A question may come up to a step late, and the last step is not over.
					if late := d.now - from; late > pace.After+2*step {
						t.Errorf("steps of %d ns beside %d others: %d ns without a question", step, others, late)
						return nil
					}
				}
				return nil
			})
		}
	}
}

// TestLongStepsAmongShort: a task that takes long again and again is followed by a question
// each time, however many short steps of others come between.
func TestLongStepsAmongShort(t *testing.T) {
	for _, others := range []int{1, 3, 20} {
		onStepClock(t, func(ctx context.Context, d *stepClock) error {
			g, stop := context.WithCancel(ctx)
			defer stop()
			for range others {
				Go(g, func(ctx context.Context) error {
					for Yield(ctx) == nil {
						d.now += 500
					}
					return nil
				})
			}
			for n := range 100 {
				asked := len(d.asked)
				d.now += 2 * pace.After
				if err := Yield(ctx); err != nil {
					return err
				}
				if len(d.asked) == asked && n > 1 {
					t.Errorf("beside %d others: no question after long step %d", others, n)
				}
			}
			return nil
		})
	}
}

// TestYieldGoesBehindEvents: a task that has held the loop yields, and what has come in
// meanwhile goes first, but for tasks that were ready before it.
func TestYieldGoesBehindEvents(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		g, stop := context.WithCancel(ctx)
		defer stop()
		var order []string
		var readers WaitList
		for range 2 {
			Go(g, func(ctx context.Context) error {
				for readers.Park(ctx, Reason{What: "read"}) == nil {
					order = append(order, "read")
				}
				return nil
			})
		}
		beside := Go(g, func(ctx context.Context) error {
			for Yield(ctx) == nil {
				order = append(order, "beside")
			}
			return nil
		})
		computing := Go(ctx, func(ctx context.Context) error {
			for asked := len(d.asked); len(d.asked) == asked; { // from now on each long step is noticed
				d.now += 2 * pace.After
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			order = nil
			for n := range 4 {
				if n == 1 {
					beside.Cancel(nil)
				}
				d.now += 2 * pace.After
				d.report = func() { readers.WakeAll() }
				if err := Yield(ctx); err != nil {
					return err
				}
				order = append(order, "computed")
			}
			return nil
		})
		if err := computing.Wait(ctx); err != nil {
			return err
		}
		want := []string{
			"beside", "read", "read", "computed",
			"beside", "read", "read", "computed",
			"read", "read", "computed",
			"read", "read", "computed",
		}
		if !slices.Equal(order, want) {
			t.Errorf("they ran in the order %v, want %v", order, want)
		}
		return nil
	})
}

// TestTurnOfOperationsAsks: before others get a turn because operations of a task have taken long,
// the driver is asked, however many steps may still come until the next look at the clock. So what
// is due gets a turn too.
func TestTurnOfOperationsAsks(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		l, self, woken := LoopOf(ctx), Current(ctx), false
		Go(ctx, func(ctx context.Context) error {
			err := Sleep(ctx, time.Duration(pace.After))
			woken = true
			return err
		})
		for steps := 0; steps < 100 || l.pace.Look < l.steps+10; steps++ {
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		d.now += 2 * pace.After
		for before := self.Info().Switches; self.Info().Switches == before; {
			if err := Checkpoint(ctx); err != nil {
				return err
			}
		}
		if !woken {
			t.Error("others had a turn, and a task whose timer was due had none")
		}
		return nil
	})
}

// TestEventRunsInTheNextTurn: what comes in while a turn is going on runs in the next one, also if
// it goes before the last task of the turn, which has yielded.
func TestEventRunsInTheNextTurn(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		l := LoopOf(ctx)
		for asked := len(d.asked); len(d.asked) == asked; { // from now on each long step is noticed
			d.now += 2 * pace.After
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		var first, second uint64
		l.CallSoon(func() {
			first = l.stats.Turns
			d.now += 2 * pace.After
			d.report = func() { l.CallSoon(func() { second = l.stats.Turns }) }
		})
		if err := Yield(ctx); err != nil {
			return err
		}
		if second != first+1 {
			t.Errorf("what came in turn %d ran in turn %d, before the task that had yielded", first, second)
		}
		return nil
	})
}

// TestEventsDoNotStarveYield: a task that yields runs after those that the driver reported then,
// however much it reports while they run.
func TestEventsDoNotStarveYield(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		g, stop := context.WithCancel(ctx)
		defer stop()
		var readers WaitList
		var always func()
		always = func() {
			d.report = always
			for range 4 {
				readers.Wake()
			}
		}
		reads := 0
		for range 100 {
			Go(g, func(ctx context.Context) error {
				for readers.Park(ctx, Reason{What: "read"}) == nil {
					if reads++; reads > 10_000 {
						return errors.New("the task that yielded does not run")
					}
					d.now += 2 * pace.After
				}
				return nil
			})
		}
		long := func() error {
			d.now += 2 * pace.After
			return Yield(ctx)
		}
		for len(d.asked) < 2 { // from now on each long step is noticed
			if err := long(); err != nil {
				return err
			}
		}
		always()
		for range 10 {
			before := reads
			if err := long(); err != nil {
				return err
			}
			if n := reads - before; n > 100 {
				t.Errorf("%d reads of 100 tasks went before a task that yielded", n)
			}
		}
		return nil
	})
}

// TestPortionOfInbox: what goroutines have posted is taken in portions: one at the beginning of a
// turn, and within a turn what makes the queue as long as one. Stats counts what was taken.
func TestPortionOfInbox(t *testing.T) {
	onStepClock(t, func(ctx context.Context, _ *stepClock) error {
		l := scopeOf(ctx).loop
		for _, c := range []struct{ batch, queued, want int }{
			{0, 0, inbox.Portion},
			{0, 10, inbox.Portion},
			{10, 10, inbox.Portion - 10},
			{1, 10, inbox.Portion - 10},
			{inbox.Portion + 1, inbox.Portion + 1, 0},
		} {
			for range c.queued {
				l.CallSoon(func() {})
			}
			for range 2 * inbox.Portion {
				if err := l.Post(func() {}); err != nil {
					return err
				}
			}
			before := l.Stats().Posts
			l.batch = c.batch
			l.ask()
			if n, counted := l.queue.Len()-c.queued, l.Stats().Posts-before; n != c.want || counted != uint64(n) {
				t.Errorf("with %d in the queue, %d of this turn, %d were taken, want %d; counted as %d", c.queued, c.batch, n, c.want, counted)
			}
			for l.batch = 0; l.queue.Len() > 0 || l.inbox.Pending(); {
				if err := Yield(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// TestEndedTasksAreSteps: the task that an ending one wakes runs past the queue, and that is a step
// as any other: a loop whose tasks only start others and wait for their end asks after pace.Every.
func TestEndedTasksAreSteps(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		l := scopeOf(ctx).loop
		for range 10 {
			before := l.stats.Switches
			for asked := len(d.asked); len(d.asked) == asked; {
				if err := Go(ctx, func(context.Context) error { return nil }).Wait(ctx); err != nil {
					return err
				}
			}
			if n := l.stats.Switches - before; n > pace.Every+2 {
				t.Errorf("%d steps without a question, want %d at most", n, pace.Every)
			}
		}
		return nil
	})
}

// TestDelayWhenStepsTurnLong: after many short steps in a row, without a sleep, the
// first long ones are noticed at the next look at the clock.
func TestDelayWhenStepsTurnLong(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		for range 10_000 {
			d.now += 5
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		long := 0
		for asked := len(d.asked); len(d.asked) == asked; long++ {
			d.now += 1_000_000
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		asked := len(d.asked)
		for range 10 {
			d.now += 1_000_000
			if err := Yield(ctx); err != nil {
				return err
			}
		}
		if got := len(d.asked) - asked; long > pace.Every || got != 10 {
			t.Errorf("%d long steps before the first question, and %d questions in 10 steps after it", long, got)
		}
		return nil
	})
}

// TestStartedBeforeUnstarted starts many tasks that soon wait: those that were woken
// go before those that have not started, so few stacks are in use at once.
func TestStartedBeforeUnstarted(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		const n = 10_000
		l, most, order, next := scopeOf(ctx).loop, 0, true, 0
		err := Group(ctx, func(g *Scope) error {
			for i := range n {
				g.Go(func(ctx context.Context) error {
					order = order && i == next
					next++
					most = max(most, l.workers)
					return Yield(ctx)
				})
			}
			return nil
		})
		if !order || next != n {
			t.Errorf("the tasks have not started in the order in which they were made")
		}
		if most > 3*maxUnstarted {
			t.Errorf("%d workers for %d tasks that yield once", most, n)
		}
		return err
	})
}

// TestAge: the watchdog learns how old a step is if the clock was read when the step began, and
// otherwise nothing.
func TestAge(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		l, seen := scopeOf(ctx).loop, make(map[bool]bool)
		err := Sleep(ctx, time.Second)
		for range 100 {
			d.now += 500
			at, known := l.pace.Began(l.steps)
			want := time.Duration(0)
			if known {
				want = time.Duration(d.now - at)
			}
			if age := l.look().Age; age != want {
				t.Errorf("a step, of which the beginning is known: %v, is %v old, want %v", known, age, want)
			}
			seen[known] = true
			err = errors.Join(err, Yield(ctx))
		}
		if len(seen) < 2 {
			t.Errorf("whether the beginning is known was always the same: %v", seen)
		}
		return err
	})
}

// TestUnstartedModel: tasks start in the order in which they were made, at most maxUnstarted of
// those that have not started are in the queue, and the count of these is right.
func TestUnstartedModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	l := new(Loop)
	made, started := uint64(0), uint64(0)
	for i := range 100_000 {
		if rnd.IntN(10) < 4+i/1000%2*2 {
			made++
			l.enqueue(&Task{id: made})
		} else if l.queue.Len() > 0 {
			e := l.queue.Take()
			l.unstarted--
			if started++; e.task == nil || e.task.id != started {
				t.Fatalf("step %d: %v starts, want task %d", i, e.task, started)
			}
			if l.behind.Len() > 0 && (l.queue.Len() == 0 || rnd.IntN(50) == 0) { // a turn ends
				if l.moveUp(); l.unstarted < maxUnstarted && l.behind.Len() > 0 {
					t.Fatalf("step %d: %d of %d moved up", i, l.unstarted, l.unstarted+l.behind.Len())
				}
			}
		}
		if l.unstarted != l.queue.Len() || l.unstarted > maxUnstarted || l.queue.Len()+l.behind.Len() != int(made-started) {
			t.Fatalf("step %d: %d of %d in the queue count as not started, %d are behind, of %d", i, l.unstarted, l.queue.Len(), l.behind.Len(), made-started)
		}
	}
}

// TestMoveBack: what comes in goes before the task that has yielded last, if that is at the end,
// and once only.
func TestMoveBack(t *testing.T) {
	for _, c := range []struct {
		name              string
		first, then, came []uint64 // ready before task 9 yields, and after it; with the events
		ran               int      // how many steps are run before the driver is asked
		want, next        []uint64
	}{
		{"it is at the end", []uint64{1, 2}, nil, []uint64{3, 4}, 0, []uint64{1, 2, 3, 4, 9}, []uint64{1, 2, 3, 4, 9, 100}},
		{"alone", nil, nil, []uint64{3}, 0, []uint64{3, 9}, []uint64{3, 9, 100}},
		{"another has become ready", []uint64{1}, []uint64{2}, []uint64{3}, 0, []uint64{1, 9, 2, 3}, []uint64{1, 9, 2, 3, 100}},
		{"nothing comes", []uint64{1}, nil, nil, 0, []uint64{1, 9}, []uint64{1, 9, 100}},
		{"it has run, and comes in again", nil, nil, []uint64{1, 2, 3, 4, 5, 6, 7, 9}, 1,
			[]uint64{1, 2, 3, 4, 5, 6, 7, 9}, []uint64{1, 2, 3, 4, 5, 6, 7, 9, 100}},
	} {
		l, tasks := new(Loop), make(map[uint64]*Task)
		task := func(id uint64) *Task {
			if tasks[id] == nil {
				tasks[id] = &Task{id: id}
			}
			return tasks[id]
		}
		ready := func(ids ...uint64) {
			for _, id := range ids {
				l.ready(task(id))
			}
		}
		check := func(want []uint64) {
			var ids []uint64
			for i := range l.queue.Len() {
				ids = append(ids, l.queue.At(i).task.id)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("%s: the queue is %v, want %v", c.name, ids, want)
			}
		}
		ready(c.first...)
		l.putBack(task(9))
		ready(c.then...)
		for range c.ran {
			l.queue.Take()
		}
		n := l.queue.Len()
		ready(c.came...)
		l.moveBack(n)
		check(c.want)
		n = l.queue.Len()
		ready(100)
		l.moveBack(n)
		check(c.next)
	}
}

// TestNeighboursStayNeighbours: tasks that are started one after the other take turns in that
// order, so that a turn visits their records in the order of memory. Only the last step of a
// turn, before which new tasks move up, is out of place.
func TestNeighboursStayNeighbours(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		const n = 10 * maxUnstarted
		started := 0
		var turn []int // who runs in which order once all have started
		err := Group(ctx, func(g *Scope) error {
			for i := range n {
				g.Go(func(ctx context.Context) error {
					for started++; started < n; {
						if err := Yield(ctx); err != nil {
							return err
						}
					}
					turn = append(turn, i)
					return nil
				})
			}
			return nil
		})
		apart := 0
		for i := range turn[1:] {
			if turn[i+1] != turn[i]+1 {
				apart++
			}
		}
		if limit := 3 * n / maxUnstarted; apart > limit {
			t.Errorf("%d of %d tasks do not run behind their neighbours, want %d at most", apart, n, limit)
		}
		return err
	})
}

// TestNestedCoroutinesDoNotPileUp: a task that makes one coroutine after the other
// does not make the loop's table of goroutines grow.
func TestNestedCoroutinesDoNotPileUp(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		l := LoopOf(ctx)
		for range 2000 {
			next, stop := iter.Pull(func(yield func(int) bool) {
				_ = Yield(ctx)
				yield(1)
			})
			next()
			if _, ok := next(); ok {
				t.Fatal("the sequence has not ended")
			}
			stop()
		}
		if n, places := len(l.nested.Places), l.goroutines.Places(); n > 500 || places > 4096 {
			t.Errorf("the table has %d coroutines, in %d places", n, places)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNestedCoroutineIsNoted: readers from outside find a coroutine that has called the loop at the
// task that resumed it last, until that task has ended.
func TestNestedCoroutineIsNoted(t *testing.T) {
	if gid.Record() == 0 {
		return // records of goroutines cannot be read here
	}
	err := Run(t.Context(), func(ctx context.Context) error {
		l := LoopOf(ctx)
		next, stop := iter.Pull(func(yield func(error) bool) {
			for yield(Yield(ctx)) {
			}
		})
		defer stop()
		noted := func() (in []*Task) {
			for _, place := range l.nested.Places {
				if place.In != nil {
					in = append(in, place.In)
				}
			}
			return in
		}
		for range 2 {
			task := Go(ctx, func(ctx context.Context) error {
				err, _ := next()
				if in := noted(); !slices.Equal(in, []*Task{Current(ctx)}) {
					t.Errorf("in the task there are %d coroutines", len(in))
				}
				return err
			})
			if err := task.Wait(ctx); err != nil {
				return err
			}
			if in := noted(); len(in) != 0 {
				t.Errorf("%d coroutines are in a task that has ended", len(in))
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSites: each task notes the line that started it, for readers from outside.
func TestSites(t *testing.T) {
	if stacks.Above(markerAt) == 0 {
		return // callers are not known here
	}
	err := Run(t.Context(), func(ctx context.Context) error {
		return Group(ctx, func(g *Scope) error {
			_, file, line, _ := runtime.Caller(0)
			for i, task := range []*Task{
				Go(ctx, Check),
				g.Go(Check),
				Async(ctx, func(context.Context) (int, error) { return 0, nil }).Task(),
			} {
				frame, _ := runtime.CallersFrames([]uintptr{markerAt + uintptr(task.site)}).Next()
				if want := line + 2 + i; frame.File != file || frame.Line != want {
					t.Errorf("task %d was started at %s:%d, want line %d", i, frame.File, frame.Line, want)
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestYieldCPU: a busy loop lets other goroutines run after a while, sooner if they
// work for it, and no longer than it runs itself.
func TestYieldCPU(t *testing.T) {
	err := Run(context.Background(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		for _, c := range []struct {
			busy, away time.Duration
			helpers    int
			yields     bool
		}{
			{yieldEvery - 1, 0, 0, false},
			{yieldEvery, 0, 0, true},
			{10 * time.Millisecond, 20 * time.Millisecond, 0, false},
			{20 * time.Millisecond, 20 * time.Millisecond, 0, true},
			{helpEvery - 1, 0, 1, false},
			{helpEvery, 20 * time.Millisecond, 1, true},
		} {
			now := l.driver.Now()
			l.helpers, l.now, l.yielded, l.away = c.helpers, now, now-int64(c.busy), int64(c.away)
			l.yieldCPU()
			yielded := l.yielded >= now
			if yielded != c.yields {
				t.Errorf("busy for %v, away for %v, %d helpers: yielded %v", c.busy, c.away, c.helpers, yielded)
			}
			if yielded && (l.now != l.yielded || l.away != l.now-now) {
				t.Errorf("it was away from %d to %d, which is noted as %d, until %d", now, l.yielded, l.away, l.now)
			}
			l.helpers = 0
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestShortOffloadCostsNoSleep: a function that ends at once does not make its loop sleep. With
// one processor it runs while the loop waits for a moment; now and then the runtime runs the
// loop first.
func TestShortOffloadCostsNoSleep(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	err := Run(context.Background(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		sleeps := 0
		counted := &sleeper{Driver: l.driver, asleep: func() { sleeps++ }}
		l.driver = counted
		const calls = 200
		for range calls {
			if err := OffloadFunc(ctx, func(context.Context) error { return nil }); err != nil {
				return err
			}
		}
		if sleeps > calls/4 {
			t.Errorf("%d sleeps for %d short functions", sleeps, calls)
		}
		sleeps = 0
		release := make(chan struct{})
		l.CallLater(time.Millisecond, func() { close(release) })
		err := OffloadFunc(ctx, func(context.Context) error { <-release; return nil })
		if sleeps == 0 {
			t.Error("the loop did not sleep beside a function that waits")
		}
		l.driver = counted.Driver
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOthersRun: with one processor a loop that is busy lets other goroutines run.
func TestOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	err := Run(context.Background(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		var ran atomic.Bool
		goFunc(func() { ran.Store(true) })
		for range 2 { // now and then the runtime runs first what has just yielded, never twice
			l.yielded, l.away = l.driver.Now()-int64(yieldEvery), 0
			for range 2 * pace.Every {
				if err := Yield(ctx); err != nil {
					return err
				}
			}
		}
		if !ran.Load() {
			t.Error("a loop that was busy for longer than yieldEvery has let no other goroutine run")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A sleepWatch is a driver that notes which goroutines sleep in it.
type sleepWatch struct {
	driver.Driver
	slept []uint64
}

func (d *sleepWatch) Poll(until int64) error {
	if until >= 0 {
		d.slept = append(d.slept, gid.ID())
	}
	return d.Driver.Poll(until)
}

// TestSleepsOnOneStack: however many tasks have run since the driver was asked, the
// loop sleeps on the goroutine of Run and not on the stack of the last of them.
func TestSleepsOnOneStack(t *testing.T) {
	run := gid.ID()
	for n := range 70 {
		// The watchdog reads the driver's clock on a goroutine of its own.
		unwatched := &Runner{HangAfter: -1}
		err := unwatched.Run(context.Background(), func(ctx context.Context) error {
			l := LoopOf(ctx)
			watch := &sleepWatch{Driver: l.driver}
			l.driver = watch
			defer func() { l.driver = watch.Driver }()
			return Group(ctx, func(g *Scope) error {
				for range n + 10 {
					g.Go(func(ctx context.Context) error { return Sleep(ctx, time.Hour) })
				}
				for range n % 7 {
					if err := Yield(ctx); err != nil {
						return err
					}
				}
				// On a slow machine it is due before the loop sleeps: then nothing is seen.
				l.CallLater(time.Millisecond, func() { g.Cancel(nil) })
				err := Sleep(g, time.Hour)
				for _, goroutine := range watch.slept {
					if goroutine != run {
						t.Errorf("with %d tasks the loop slept on goroutine %d, want %d", n+10, goroutine, run)
					}
				}
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDefaultOfSlowStep: Debug reports steps of 100 ms, unless SlowStep says how long they are.
// Without Debug none is reported, nor is a loop whose end is late; it is only watched for hangs.
func TestDefaultOfSlowStep(t *testing.T) {
	t.Setenv("RONDO_DEBUG", "")
	for _, c := range []struct {
		debug       bool
		given, want time.Duration
	}{{false, 0, 0}, {false, time.Second, time.Second}, {true, 0, 100 * time.Millisecond}, {true, time.Second, time.Second}} {
		err := (&Runner{Debug: c.debug, SlowStep: c.given}).Run(context.Background(), func(ctx context.Context) error {
			l := LoopOf(ctx)
			if got := l.runner.SlowStep; got != c.want || (l.late != nil) != (c.want > 0) || len(l.stops) != 1 {
				t.Errorf("Debug %v and SlowStep %v: %v, want %v; watched %v, late %v",
					c.debug, c.given, got, c.want, len(l.stops) == 1, l.late != nil)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestWatchInSimulation: there steps are watched if SlowStep asks for it, and hangs never.
func TestWatchInSimulation(t *testing.T) {
	for _, slow := range []time.Duration{0, time.Hour} {
		l := &Loop{sim: &simulation{}, runner: Runner{SlowStep: slow, HangAfter: time.Hour}}
		l.startWatchdog()
		if watched := len(l.stops) == 1; watched != (slow > 0) {
			t.Errorf("with SlowStep %v it is watched: %v", slow, watched)
		}
		for _, stop := range l.stops {
			stop()
		}
	}
}

// TestLook: a report of a long step names what runs: a task by its name or number, or a callback.
func TestLook(t *testing.T) {
	err := Run(context.Background(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		check := func(want string) {
			t.Helper()
			if got := l.look().Task; got != want {
				t.Errorf("%q runs, want %q", got, want)
			}
		}
		check("main")
		child := Go(ctx, func(ctx context.Context) error {
			check("task-2")
			Current(ctx).SetName("child")
			check("child")
			return nil
		})
		l.CallSoon(func() { check(callback) })
		return child.Wait(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

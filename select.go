package rondo

// Select waits for several things at once and takes one of them; AsCompleted takes one
// after the other.
//
// The law: a task in a Select is in the list of each case at the same time. A Wake
// of one of them, a timer or a cancellation takes it off all of them before the
// task is ready. So exactly one case is taken, and no Wake is spent on a task that
// takes another case: the next in the list gets it.

import (
	"context"
	"iter"
	"time"

	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/internal/pace"
)

// A Case is one of the things that a Select waits for. Methods such as Queue.GetCase and
// Event.WaitCase make one, and so does After. The zero Case is never ready, as a nil
// channel is, so one that is not wanted for a while can be left in its place.
type Case struct {
	On Selectable // nil: never ready
	To any        // passed on to the methods of On, such as a pointer to the result

	timed bool // by After
	delay time.Duration
}

// A Selectable can be waited for in a Select. Implement it to have your own primitive, built on
// a WaitList, in a Case. Its methods are called on the loop, in the task, and must not wait.
type Selectable interface {
	// Try takes what the case waits for if it is there, and reports whether it has taken it.
	// Then err is the case's result. ctx is the one that Select was called with.
	Try(ctx context.Context, to any) (taken bool, err error)

	// Begin returns the list in which the task is to wait, and the reason to show for the wait.
	// It is called after all cases were tried, just before the task suspends. For each Begin
	// there is one End.
	Begin(ctx context.Context) (*WaitList, Reason)

	// End is called when the wait is over. If woken is true a Wake of the list has
	// ended it: this case is taken, End completes what code after Park would, and
	// returns the case's result. Otherwise the result is ignored.
	End(to any, woken bool) error
}

// Select waits until one of the cases is ready, takes that one, and returns its index and its
// error: for GetCase, for example, the error that Get would return. The other cases are not
// affected. If ctx is cancelled first it returns -1 and the cause.
//
//	switch i, err := rondo.Select(ctx, jobs.GetCase(&job), stop.WaitCase(), rondo.After(time.Minute)); {
//	case err != nil:
//		return err // cancelled, or jobs is closed
//	case i == 0:
//		work(job)
//	case i == 1:
//		return nil
//	case i == 2:
//		fmt.Println("a minute without a job")
//	}
//
// If several are ready at the call, the first of them in the order of the arguments is
// taken. Otherwise it is the one that is ready first. So put first what must not starve, such
// as a request to stop, and what is nearly always ready last; or see RoundRobin. With After(0)
// as its last case Select waits for none of them. Without a case that can be ready it waits
// until ctx is cancelled. Before it looks, Select may let other tasks run, as Checkpoint does.
func Select(ctx context.Context, cases ...Case) (int, error) { return selectFrom(ctx, 0, cases) }

// A RoundRobin is a Select that is fair when it is called again and again with
// cases in the same order: if several are ready at the call, it takes the first
// after the one that it took last. The zero value is ready.
type RoundRobin struct {
	_    nocopy.Field
	next int
}

// Select does what the function Select does, except for the choice among several ready cases.
func (r *RoundRobin) Select(ctx context.Context, cases ...Case) (int, error) {
	i, err := selectFrom(ctx, r.next, cases)
	if i >= 0 {
		r.next = i + 1
	}
	return i, err
}

// After is a case that is ready when d has passed since the call of Select.
func After(d time.Duration) Case { return Case{timed: true, delay: d} }

// selectFrom is Select, except that it tries the cases from the index first on, and then those
// before it.
func selectFrom(ctx context.Context, first int, cases []Case) (int, error) {
	s, t, err := checkpoint(ctx, pace.Many(len(cases)))
	if err != nil {
		return -1, err
	}
	for k := range cases {
		i := (first + k) % len(cases)
		if taken, err := cases[i].try(ctx); taken {
			return i, err
		}
	}
	wait := t.worker.ensureSelection(len(cases))
	defer wait.end(t.worker, cases)
	wait.begin(ctx, s.loop, cases)
	if wait.woken != nil { // by a case's Begin: t is in the queue
		s.loop.transfer(t)
		return wait.take(cases)
	}
	if c := s.cancelled(); c != nil && !detached(ctx) { // by a case's Try or Begin
		s.noteCut(c)
		return -1, c.cause
	}
	if err := t.park(s, ctx, Reason{What: selecting}); err != nil {
		return -1, err
	}
	return wait.take(cases)
}

func (c *Case) try(ctx context.Context) (taken bool, err error) {
	switch {
	case c.timed:
		return c.delay <= 0, nil
	case c.On == nil:
		return false, nil
	}
	return c.On.Try(ctx, c.To)
}

// ensureSelection returns the worker's selection, with room for n cases. A large
// one is not kept for the next Select.
func (w *worker) ensureSelection(n int) *selection {
	s := w.selection
	if s == nil || cap(s.places) < n || cap(s.places) > 64 {
		s = &selection{places: make([]place, 0, max(n, 4))}
		w.selection = s
	}
	s.places, s.woken, s.timer = s.places[:n], nil, -1
	for i := range s.places {
		s.places[i].worker = w
	}
	return s
}

// begin puts the task into the lists of the cases, until the Begin of one wakes the task, which is
// in the list of another by then. It is not inlined, because its
// variables would be on the stack of every task that waits in a Select.
//
//go:noinline
func (s *selection) begin(ctx context.Context, l *Loop, cases []Case) {
	for i := range cases {
		switch c := &cases[i]; {
		case c.timed:
			if s.timer < 0 || c.delay < cases[s.timer].delay {
				s.timer = i
			}
		case c.On != nil:
			p := &s.places[i]
			list, why := c.On.Begin(ctx)
			if p.begun, p.why = true, why; s.woken != nil {
				return // t must be in no list when it is ready
			}
			list.add(&p.waiter)
		}
	}
	if s.timer >= 0 {
		l.timers.Set(l.after(cases[s.timer].delay), s.places[s.timer].worker, nil)
	}
}

// take completes the case whose list, or whose timer, has woken the task.
func (s *selection) take(cases []Case) (int, error) {
	for i := range s.places {
		if p := &s.places[i]; &p.waiter == s.woken {
			p.begun = false
			return i, cases[i].On.End(cases[i].To, true)
		}
	}
	return s.timer, nil
}

// end ends the cases that were not taken. It is deferred, because a panic or a Goexit
// may end the wait.
func (s *selection) end(w *worker, cases []Case) {
	ended := false
	defer func() {
		if !ended { // an End has panicked: the others are called all the same
			s.end(w, cases)
		}
	}()
	w.abandon()
	for i := range s.places {
		if p := &s.places[i]; p.begun {
			p.begun = false
			_ = cases[i].On.End(cases[i].To, false)
		}
	}
	s.places, ended = s.places[:0], true
}

// AsCompleted ranges over the futures in the order in which they are done, each once, and
// suspends the task until the next one is. Those that are done when the range begins come
// first, in the order of the arguments. The range ends after the last one, or when ctx is
// cancelled, which the caller sees from ctx; it may be left at any time, and the futures
// go on. AsCompleted panics if one of them is nil, and the range if one is of another loop
// than ctx, or ctx belongs to no loop.
//
//go:noinline
func AsCompleted[T any](ctx context.Context, fs ...*Future[T]) iter.Seq[*Future[T]] {
	for _, f := range fs {
		if f == nil {
			panic("rondo: AsCompleted with a nil Future")
		}
		f.mustBeMade()
	}
	return func(yield func(*Future[T]) bool) {
		if err := Check(ctx); err != nil {
			mustNotBeMisuse(ctx, err)
			return
		}
		var done []*Future[T]
		var list WaitList
		known := make(map[*Future[T]]bool, len(fs))
		for _, f := range fs {
			if f.loop != scopeOf(ctx).loop {
				panic(misuse(errOtherLoop).Error())
			}
			if known[f] {
				continue
			}
			known[f] = true
			if f.Done() {
				done = append(done, f)
				continue
			}
			defer f.onDone(f.loop.direct(func() {
				done = append(done, f)
				list.Wake()
			}))()
		}
		for range len(known) {
			if len(done) > 0 {
				if Checkpoint(ctx) != nil {
					return
				}
			} else if list.Park(ctx, Reason{What: "futures"}) != nil {
				return
			}
			f := done[0]
			done = done[1:]
			if !yield(f) {
				return
			}
		}
	}
}

package soak

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/rondo-go/rondo"
)

// shared is what the tasks of a random program share besides its queue and its
// lock, and what must be true of it.
type shared struct {
	rw       rondo.RWMutex
	readers  int
	writing  bool
	permits  *rondo.Semaphore
	inside   int
	barrier  *rondo.Barrier
	cond     *rondo.Cond
	guarded  bool
	least    *rondo.Queue[int]
	ranked   int // values put into least, and not got
	pulls    []*pulling
	bodies   int  // sequences that are under way
	told     int  // callbacks of OnDone that are to come
	children int  // functions of Map, Race and their like that run
	away     bool // something is outside the loop
}

// permitted is how many may be inside the Semaphore.
const permitted = 2

func newShared() shared {
	return shared{
		permits: rondo.NewSemaphore(permitted),
		barrier: rondo.NewBarrier(2),
		cond:    &rondo.Cond{L: new(rondo.Mutex)},
		least:   rondo.NewPriorityQueue(3, cmp.Less[int]),
	}
}

// settled checks, when all tasks have ended, that nothing was left behind.
func (p *program) settled(ctx context.Context) {
	for {
		if _, ok := p.least.TryGet(); !ok {
			break
		}
		p.ranked--
	}
	// Callbacks of OnDone may be yet to come.
	_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, p.unit) })
	if p.ranked != 0 || p.bodies != 0 || p.told != 0 || p.children != 0 {
		p.t.Errorf("left: %d values, %d sequences, %d callbacks, %d functions", p.ranked, p.bodies, p.told, p.children)
	}
	if !p.rw.TryLock() || !p.lock.TryLock() || !p.cond.L.TryLock() {
		p.t.Error("a lock is held by nobody")
	}
	for range permitted {
		if !p.permits.TryAcquire() {
			p.t.Error("a permit is held by nobody")
		}
	}
}

// share does one random thing with ctx that has to do with what is shared, or
// with several tasks at once.
func (p *program) share(ctx context.Context, depth int) error {
	switch p.rnd.IntN(20) {
	case 0, 1:
		return p.readOrWrite(ctx)
	case 2:
		if err := p.permits.Acquire(ctx); err != nil {
			return err
		}
		defer func() { p.inside--; p.permits.Release() }()
		if p.inside++; p.inside > permitted {
			p.t.Error("too many are inside the Semaphore")
		}
		return rondo.Sleep(ctx, p.some(5))
	case 3:
		return p.briefly(ctx, func(ctx context.Context) error {
			_, err := p.barrier.Wait(ctx)
			if errors.Is(err, rondo.ErrBrokenBarrier) {
				return nil
			}
			return err
		})
	case 4:
		if p.rnd.IntN(4) == 0 {
			p.barrier.Abort()
		}
		p.barrier.Reset()
	case 5, 6:
		return p.condition(ctx)
	case 7:
		return p.briefly(ctx, func(ctx context.Context) error {
			err := p.least.Put(ctx, p.rnd.IntN(10))
			if err == nil {
				p.ranked++
			}
			return err
		})
	case 8:
		return p.briefly(ctx, func(ctx context.Context) error {
			_, err := p.least.Get(ctx)
			if err == nil {
				p.ranked--
			}
			return err
		})
	case 9, 10:
		return p.pull(ctx, depth)
	case 11, 12:
		return p.useAnothers(ctx)
	case 13:
		return p.coroutine(ctx, depth)
	case 14:
		return p.mapping(ctx, depth)
	case 15:
		return p.several(ctx, depth)
	case 16:
		return p.whichever(ctx, depth)
	case 17:
		p.listen(ctx)
	case 18:
		return p.outside(ctx)
	case 19:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if p.rnd.IntN(2) == 0 {
			rondo.Go(ctx, func(context.Context) error { cancel(); return nil })
		}
		return p.nested(ctx, depth)
	}
	return nil
}

// nested does one more thing, if that does not lead too deep.
func (p *program) nested(ctx context.Context, depth int) error {
	if depth > 4 {
		return rondo.Yield(ctx)
	}
	return p.step(ctx, depth+1)
}

// readOrWrite does not lock anything else inside: that could be a deadlock.
func (p *program) readOrWrite(ctx context.Context) error {
	if p.rnd.IntN(2) == 0 {
		if err := p.rw.RLock(ctx); err != nil {
			return err
		}
		p.readers++
		defer func() { p.readers--; p.rw.RUnlock() }()
	} else {
		if err := p.rw.Lock(ctx); err != nil {
			return err
		}
		if p.writing || p.readers > 0 {
			p.t.Error("a writer is not alone")
		}
		p.writing = true
		defer func() { p.writing = false; p.rw.Unlock() }()
	}
	if p.writing && p.readers > 0 {
		p.t.Error("somebody reads while another writes")
	}
	return rondo.Sleep(ctx, p.some(5))
}

func (p *program) condition(ctx context.Context) error {
	if err := p.cond.L.Lock(ctx); err != nil {
		return err
	}
	take := func() {
		if p.guarded {
			p.t.Error("two hold the lock of the Cond")
		}
		p.guarded = true
	}
	take()
	defer func() { p.guarded = false; p.cond.L.Unlock() }()
	switch p.rnd.IntN(4) {
	case 0:
		p.cond.Signal()
	case 1:
		p.cond.Broadcast()
	default:
		return p.briefly(ctx, func(ctx context.Context) error {
			if rondo.Check(ctx) != nil {
				return rondo.Check(ctx)
			}
			p.guarded = false
			defer take()
			return p.cond.Wait(ctx)
		})
	}
	return rondo.Yield(ctx)
}

// A pulling is a Pull that tasks share.
type pulling struct {
	next    func() (int, bool)
	stop    func()
	running bool // the sequence does, and so nobody else may come in
	stopped bool
}

// pull makes a Pull and asks it for some values.
func (p *program) pull(ctx context.Context, depth int) error {
	if depth > 4 {
		return nil
	}
	x := new(pulling)
	length := p.rnd.IntN(6)
	explodes := p.rnd.IntN(8) == 0
	x.next, x.stop = rondo.Pull(ctx, func(yield func(int) bool) {
		p.bodies++
		x.running = true
		defer func() { p.bodies-- }()
		if p.rnd.IntN(3) == 0 {
			defer rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, p.some(5)) })
		}
		for i := range length {
			_ = p.contained(ctx, depth+1)
			x.running = false
			more := yield(i)
			x.running = true
			if !more {
				if yield(0) {
					p.t.Error("a yield was true after it was false")
				}
				return
			}
			if explodes && p.rnd.IntN(2) == 0 {
				panic(errPlanned)
			}
		}
	})
	for range p.rnd.IntN(4) {
		if !x.running && !x.use() {
			break
		}
	}
	switch p.rnd.IntN(3) {
	case 0:
		if !x.running {
			x.stop()
			x.stopped = true
			if _, ok := x.next(); ok {
				p.t.Error("a Pull that was stopped gives a value")
			}
		}
	case 1:
		p.pulls = append(p.pulls, x)
	}
	return rondo.Check(ctx)
}

// use asks for a value.
func (x *pulling) use() bool {
	_, ok := x.next()
	return ok
}

// useAnothers asks for values of a Pull that some other task made, or stops it.
func (p *program) useAnothers(ctx context.Context) error {
	if len(p.pulls) == 0 {
		return nil
	}
	x := p.pulls[p.rnd.IntN(len(p.pulls))]
	switch {
	case x.running:
	case p.rnd.IntN(4) == 0:
		x.stop()
		x.stopped = true
	case x.use() && x.stopped:
		p.t.Error("a Pull that was stopped gives a value")
	}
	return rondo.Check(ctx)
}

// contained is the body of a task without one of its own.
func (p *program) contained(ctx context.Context, depth int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			if !planned(v) {
				panic(v)
			}
			err = errPlanned
		}
	}()
	return p.body(ctx, depth)
}

// coroutine runs a body in a coroutine of the program's own.
func (p *program) coroutine(ctx context.Context, depth int) (err error) {
	if depth > 4 {
		return nil
	}
	next, stop := iter.Pull(func(yield func(error) bool) {
		p.bodies++
		defer func() { p.bodies-- }()
		for yield(p.body(ctx, depth+1)) {
		}
		_ = rondo.Yield(ctx)
	})
	defer stop()
	for range p.rnd.IntN(3) {
		if err, _ := next(); err != nil {
			return err
		}
	}
	return nil
}

// child counts itself while it runs.
func (p *program) child(ctx context.Context, depth int) (int, error) {
	p.children++
	defer func() { p.children-- }()
	return 1, p.task(depth)(ctx)
}

func (p *program) mapping(ctx context.Context, depth int) error {
	if depth > 4 {
		return nil
	}
	limit, n, running, next := 1+p.rnd.IntN(3), p.rnd.IntN(6), 0, 0
	in := func(yield func(int) bool) {
		p.bodies++
		defer func() { p.bodies-- }()
		for i := range n {
			// With the ctx from above: leaving the range ends it all the same.
			if rondo.Sleep(ctx, p.some(20)) != nil || !yield(i) {
				return
			}
		}
	}
	var last error
	for v, err := range rondo.Map(ctx, limit, in, func(ctx context.Context, i int) (int, error) {
		if running++; running > limit {
			p.t.Error("Map runs too many at once")
		}
		defer func() { running-- }()
		_, err := p.child(ctx, depth+1)
		return i, err
	}) {
		if last = err; err == nil && v != next {
			p.t.Errorf("Map gave %d for %d", v, next)
		}
		next++
		if p.rnd.IntN(6) == 0 {
			break
		}
		if p.rnd.IntN(12) == 0 {
			defer p.nobodyRuns(&running)
			return p.nested(ctx, depth)
		}
	}
	p.nobodyRuns(&running)
	if rondo.Check(ctx) != nil {
		return last
	}
	return nil
}

func (p *program) nobodyRuns(running *int) {
	if *running != 0 {
		p.t.Errorf("Map left %d of its functions running", *running)
	}
}

// several runs some functions at once, in one of three ways.
func (p *program) several(ctx context.Context, depth int) error {
	if depth > 4 {
		return nil
	}
	ended := 0
	fns := make([]func(context.Context) (int, error), 1+p.rnd.IntN(3))
	for i := range fns {
		fns[i] = func(ctx context.Context) (int, error) {
			defer func() { ended++ }()
			return p.child(ctx, depth+1)
		}
	}
	cancelled := rondo.Check(ctx) != nil
	var err error
	switch p.rnd.IntN(3) {
	case 0:
		_, err = rondo.Gather(ctx, fns...)
	case 1:
		_, err = rondo.Race(ctx, fns...)
	case 2:
		for _, r := range rondo.Settle(ctx, fns...) {
			if r.Err == nil && r.Value != 1 {
				p.t.Error("Settle lost a value")
			}
		}
	}
	if !cancelled && ended != len(fns) {
		p.t.Errorf("%d of %d functions have ended", ended, len(fns))
	}
	if rondo.Check(ctx) != nil {
		return err
	}
	return nil
}

// whichever waits for some tasks and futures as they come.
func (p *program) whichever(ctx context.Context, depth int) error {
	if other := p.another(ctx); other != nil && p.rnd.IntN(2) == 0 {
		return p.briefly(ctx, func(ctx context.Context) error {
			ts := []*rondo.Task{other}
			if more := p.another(ctx); more != nil {
				ts = append(ts, more)
			}
			first, err := rondo.WaitAny(ctx, ts...)
			if err == nil && !first.Done() {
				p.t.Error("WaitAny gave a task that has not ended")
			}
			return err
		})
	}
	fs := []*rondo.Future[int]{rondo.NewFuture[int](ctx)}
	rondo.LoopOf(ctx).CallLater(p.some(10), func() { fs[0].Set(1) })
	set := fs[0]
	for range p.rnd.IntN(3) {
		fs = append(fs, rondo.Async(ctx, func(ctx context.Context) (int, error) { return p.child(ctx, depth+1) }))
	}
	n := 0
	for f := range rondo.AsCompleted(ctx, fs...) {
		if n++; !f.Done() {
			p.t.Error("AsCompleted gave a Future that is not done")
		}
		if p.rnd.IntN(6) == 0 {
			break
		}
	}
	// The callback must have come before the program looks for timers.
	_ = rondo.Shield(ctx, func(ctx context.Context) error { _, err := set.Wait(ctx); return err })
	return rondo.Check(ctx)
}

// listen is told of the end of another task, or stops listening.
func (p *program) listen(ctx context.Context) {
	other := p.another(ctx)
	if other == nil {
		return
	}
	p.told++
	stop := other.OnDone(func() {
		if p.told--; !other.Done() {
			p.t.Error("OnDone before the end")
		}
	})
	if p.rnd.IntN(2) == 0 && stop() {
		p.told--
		if stop() {
			p.t.Error("OnDone was stopped twice")
		}
	}
}

// outside waits for a goroutine, one at a time: the order in which several come
// back is no part of what a seed repeats.
func (p *program) outside(ctx context.Context) error {
	if p.away {
		return nil
	}
	p.away = true
	defer func() { p.away = false }()
	if p.rnd.IntN(2) == 0 {
		v, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 1, nil })
		if err == nil && v != 1 {
			p.t.Error("Offload lost a value")
		}
		return err
	}
	ch := make(chan int, 1)
	rondo.Go(ctx, func(context.Context) error { ch <- 1; return nil })
	v, ok, err := rondo.Receive(ctx, ch)
	if err == nil && (v != 1 || !ok) || err != nil && len(ch) > 1 {
		p.t.Error("Receive lost a value")
	}
	return err
}

// start starts a task in g that says when it is ready.
func (p *program) start(ctx context.Context, g *rondo.Scope, depth int) error {
	begun := false
	err := g.Start(ctx, func(ctx context.Context, started func()) error {
		if _, err := p.child(ctx, depth+1); err != nil {
			return err
		}
		begun = true
		started()
		_, err := p.child(ctx, depth+1)
		return err
	})
	if err == nil && !begun {
		p.t.Error("Start returned before its task had started")
	}
	if errors.Is(err, errPlanned) {
		return nil
	}
	return err
}

package soak

import (
	"cmp"
	"context"
	"errors"

	"github.com/rondo-go/rondo"
)

// shared is what the tasks of a program share besides its queue and its lock, and
// what must be true of it.
type shared struct {
	rw        rondo.RWMutex
	readers   int
	writing   bool
	permits   *rondo.Semaphore
	inside    int
	barrier   *rondo.Barrier
	cond      *rondo.Cond
	guarded   bool
	least     *rondo.Queue[int]
	ranked    int // values in least
	pulls     []*pulling
	bodies    int  // sequences that have begun and not ended
	callbacks int  // callbacks of OnDone that have not run
	children  int  // functions of Map, Race and the like that run
	away      bool // a task waits for a goroutine
}

// permitted is how many permits the Semaphore has.
const permitted = 2

func newShared() shared {
	return shared{
		permits: rondo.NewSemaphore(permitted),
		barrier: rondo.NewBarrier(2),
		cond:    &rondo.Cond{L: new(rondo.Mutex)},
		least:   rondo.NewPriorityQueue(3, cmp.Less[int]),
	}
}

// settled checks, when all tasks have ended, that nothing is left.
func (p *program) settled(ctx context.Context) {
	for {
		if _, ok := p.least.TryGet(); !ok {
			break
		}
		p.ranked--
	}
	// This waits for callbacks of OnDone.
	_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, p.unit) })
	if p.ranked != 0 || p.bodies != 0 || p.callbacks != 0 || p.children != 0 {
		p.t.Errorf("%d values, %d sequences, %d callbacks and %d functions are left", p.ranked, p.bodies, p.callbacks, p.children)
	}
	if !p.rw.TryLock() || !p.lock.TryLock() || !p.cond.L.TryLock() {
		p.t.Error("a lock is locked when all tasks have ended")
	}
	for range permitted {
		if !p.permits.TryAcquire() {
			p.t.Error("a permit is held when all tasks have ended")
		}
	}
}

// share does one random thing with what the tasks share, or with several tasks at
// once.
func (p *program) share(ctx context.Context, depth int) error {
	switch p.rnd.IntN(20) {
	case 0, 1:
		return p.readOrWrite(ctx)
	case 2:
		return p.permit(ctx)
	case 3:
		return p.meet(ctx)
	case 4:
		if p.rnd.IntN(4) == 0 {
			p.barrier.Abort()
		}
		p.barrier.Reset()
	case 5, 6:
		return p.condition(ctx)
	case 7:
		return p.putRanked(ctx)
	case 8:
		return p.getRanked(ctx)
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

// nested takes one more step, except at great depth.
func (p *program) nested(ctx context.Context, depth int) error {
	if depth > 4 {
		return rondo.Yield(ctx)
	}
	return p.step(ctx, depth+1)
}

// permit holds a permit of the Semaphore for a while.
func (p *program) permit(ctx context.Context) error {
	if err := p.permits.Acquire(ctx); err != nil {
		return err
	}
	defer func() { p.inside--; p.permits.Release() }()
	if p.inside++; p.inside > permitted {
		p.t.Errorf("%d tasks hold a permit, and there are %d permits", p.inside, permitted)
	}
	return rondo.Sleep(ctx, p.some(5))
}

// meet waits at the Barrier, which another task may break.
func (p *program) meet(ctx context.Context) error {
	return p.briefly(ctx, func(ctx context.Context) error {
		_, err := p.barrier.Wait(ctx)
		if errors.Is(err, rondo.ErrBrokenBarrier) {
			return nil
		}
		return err
	})
}

func (p *program) putRanked(ctx context.Context) error {
	return p.briefly(ctx, func(ctx context.Context) error {
		err := p.least.Put(ctx, p.rnd.IntN(10))
		if err == nil {
			p.ranked++
		}
		return err
	})
}

func (p *program) getRanked(ctx context.Context) error {
	return p.briefly(ctx, func(ctx context.Context) error {
		_, err := p.least.Get(ctx)
		if err == nil {
			p.ranked--
		}
		return err
	})
}

// readOrWrite takes no other lock while it holds this one, because that could be
// a deadlock.
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
		p.t.Error("a task reads while another writes")
	}
	return rondo.Sleep(ctx, p.some(5))
}

// condition signals or waits with the Cond, and checks that it holds the lock
// whenever it should.
func (p *program) condition(ctx context.Context) error {
	if err := p.cond.L.Lock(ctx); err != nil {
		return err
	}
	take := func() {
		if p.guarded {
			p.t.Error("two tasks hold the lock of the Cond")
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

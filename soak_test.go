package rondo_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// program is a random program: tasks that open scopes, start tasks, wait,
// cancel each other, fail and panic, and check what must hold whatever happens.
type program struct {
	t     *testing.T
	rnd   *rand.Rand
	tasks []*rondo.Task
	fuel  int
	queue *rondo.Queue[int]
	lock  rondo.Mutex
	held  bool
	put   int
	got   int
}

var errPlanned = errors.New("a planned failure")

// step does one random thing with ctx.
func (p *program) step(ctx context.Context, depth int) error {
	p.fuel--
	switch p.rnd.IntN(14) {
	case 0:
		return rondo.Yield(ctx)
	case 1, 2:
		return rondo.Sleep(ctx, time.Duration(p.rnd.IntN(50))*time.Millisecond)
	case 3:
		return p.briefly(ctx, func(ctx context.Context) error {
			err := p.queue.Put(ctx, 1)
			if err == nil {
				p.put++
			}
			return err
		})
	case 4:
		return p.briefly(ctx, func(ctx context.Context) error {
			_, err := p.queue.Get(ctx)
			if err == nil {
				p.got++
			}
			return err
		})
	case 5:
		if err := p.lock.Lock(ctx); err != nil {
			return err
		}
		defer func() { p.held = false; p.lock.Unlock() }()
		if p.held {
			p.t.Error("two tasks hold the lock")
		}
		p.held = true
		return rondo.Yield(ctx)
	case 6, 7:
		return p.scope(ctx, depth)
	case 8, 9:
		p.tasks = append(p.tasks, rondo.Go(ctx, p.task(depth+1)))
	case 10:
		if len(p.tasks) > 0 {
			p.tasks[p.rnd.IntN(len(p.tasks))].Cancel(nil)
		}
	case 11:
		if len(p.tasks) > 0 {
			other := p.tasks[p.rnd.IntN(len(p.tasks))]
			if other != rondo.Current(ctx) {
				return rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
					_ = other.Wait(ctx)
					return rondo.Check(ctx)
				})
			}
		}
	case 12:
		if p.rnd.IntN(4) == 0 {
			return errPlanned
		}
	case 13:
		if p.rnd.IntN(8) == 0 {
			panic(errPlanned)
		}
	}
	return nil
}

// briefly runs wait under a deadline, which is no failure.
func (p *program) briefly(ctx context.Context, wait func(ctx context.Context) error) error {
	err := rondo.Timeout(ctx, 20*time.Millisecond, wait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// scope opens a scope of a random kind, and checks that all tasks that were
// started in it have ended when it is left, and that its cancellation stays.
func (p *program) scope(ctx context.Context, depth int) (err error) {
	if depth > 4 {
		return nil
	}
	body := func(ctx context.Context) error {
		if err := p.body(ctx, depth+1); err != nil {
			return err
		}
		if ctx.Err() != nil && rondo.Check(ctx) == nil {
			p.t.Error("a cancelled scope lets a wait pass")
		}
		return nil
	}
	switch p.rnd.IntN(4) {
	case 0:
		err = rondo.Timeout(ctx, time.Duration(p.rnd.IntN(100))*time.Millisecond, body)
	case 1:
		err = rondo.Shield(ctx, body)
	default:
		var own []*rondo.Task
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range p.rnd.IntN(3) {
				own = append(own, g.Go(p.task(depth+1)))
			}
			if p.rnd.IntN(4) == 0 {
				g.Cancel(nil)
			}
			return body(g)
		})
		for _, task := range own {
			if !task.Done() {
				p.t.Error("a task outlived its group")
			}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

func (p *program) body(ctx context.Context, depth int) error {
	for range p.rnd.IntN(6) {
		if p.fuel <= 0 {
			return nil
		}
		if err := p.step(ctx, depth); err != nil {
			return err
		}
	}
	return nil
}

// TestRandomPrograms: whatever a program does, its scopes end in order, its
// locks exclude, its queue keeps count, and nothing is left when it ends.
func TestRandomPrograms(t *testing.T) {
	for range 20 {
		sim.Test(t, func(ctx context.Context) {
			p := &program{t: t, rnd: sim.Rand(ctx), fuel: 400, queue: rondo.NewQueue[int](3)}
			for p.fuel > 0 && rondo.Check(ctx) == nil {
				// The outer Group takes the errors of the inner one if its body panics.
				_ = rondo.Group(ctx, func(outer *rondo.Scope) error {
					defer func() {
						if v := recover(); v != nil && v != errPlanned {
							panic(v)
						}
					}()
					return rondo.Group(outer, func(g *rondo.Scope) error {
						for range 3 {
							g.Go(p.task(0))
						}
						return p.body(g, 0)
					})
				})
			}
			for range 1000 {
				if _, ok := p.queue.TryGet(); !ok {
					break
				}
				p.got++
			}
			if p.put != p.got {
				t.Errorf("%d values were put and %d got", p.put, p.got)
			}
			if s := rondo.LoopOf(ctx).Stats(); s.Timers != 0 || s.Tasks != 1 {
				t.Errorf("%d timers and %d tasks are left", s.Timers, s.Tasks)
			}
		})
	}
}

// task is body as a task, which catches its planned panics: one that got out
// would end the loop.
func (p *program) task(depth int) func(ctx context.Context) error {
	return func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				if v != errPlanned {
					panic(v)
				}
				err = errPlanned
			}
		}()
		return p.body(ctx, depth)
	}
}

package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// program is a random program. Its tasks open scopes, start tasks, wait, cancel
// each other, fail and panic, and check what must hold in every program.
type program struct {
	t        *testing.T
	rnd      *rand.Rand
	unit     time.Duration // of its waits
	uncaught bool          // tasks do not recover their planned panics
	exit     *rondo.Handle // of a callback that calls Goexit, or nil
	tasks    []*rondo.Task
	fuel     int // steps that are left
	queue    *rondo.Queue[int]
	lock     rondo.Mutex
	held     bool
	put      int
	got      int
	shared
}

func newProgram(t *testing.T, rnd *rand.Rand) *program {
	return &program{t: t, rnd: rnd, unit: time.Millisecond, fuel: 400, queue: rondo.NewQueue[int](3), shared: newShared()}
}

var errPlanned = errors.New("a planned failure")

// planned reports whether v is a planned panic, or the PanicError of one.
func planned(v any) bool {
	if e, ok := v.(*rondo.PanicError); ok {
		v = e.Value
	}
	return v == errPlanned
}

// some returns a random duration of less than n units.
func (p *program) some(n int) time.Duration { return time.Duration(p.rnd.IntN(n)) * p.unit }

// another returns a random task other than the calling one, or nil.
func (p *program) another(ctx context.Context) *rondo.Task {
	if len(p.tasks) == 0 {
		return nil
	}
	if other := p.tasks[p.rnd.IntN(len(p.tasks))]; other != rondo.Current(ctx) {
		return other
	}
	return nil
}

// step does one random thing with ctx.
func (p *program) step(ctx context.Context, depth int) error {
	p.fuel--
	switch p.rnd.IntN(30) {
	case 0:
		return rondo.Yield(ctx)
	case 1, 2:
		return rondo.Sleep(ctx, p.some(50))
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
		if other := p.another(ctx); other != nil {
			return rondo.Timeout(ctx, p.unit, func(ctx context.Context) error {
				_ = other.Wait(ctx)
				return rondo.Check(ctx)
			})
		}
	case 12:
		if p.rnd.IntN(4) == 0 {
			return errPlanned
		}
	case 13:
		if p.rnd.IntN(8) == 0 {
			panic(errPlanned)
		}
	default:
		return p.share(ctx, depth)
	}
	return nil
}

// briefly runs wait with a deadline. Reaching the deadline is no failure.
func (p *program) briefly(ctx context.Context, wait func(ctx context.Context) error) error {
	err := rondo.Timeout(ctx, 20*p.unit, wait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// scope opens a random scope. It checks that all tasks of the scope have ended
// when it returns, and that a cancelled scope stays cancelled.
func (p *program) scope(ctx context.Context, depth int) (err error) {
	if depth > 4 {
		return nil
	}
	body := func(ctx context.Context) error {
		if err := p.body(ctx, depth+1); err != nil {
			return err
		}
		if ctx.Err() != nil && rondo.Check(ctx) == nil {
			p.t.Error("a wait in a cancelled scope succeeded")
		}
		return nil
	}
	switch p.rnd.IntN(4) {
	case 0:
		err = rondo.Timeout(ctx, p.some(100), body)
	case 1:
		err = rondo.Shield(ctx, body)
	default:
		var own []*rondo.Task
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range p.rnd.IntN(3) {
				own = append(own, g.Go(p.task(depth+1)))
			}
			switch p.rnd.IntN(8) {
			case 0, 1:
				g.Cancel(nil)
			case 2:
				g.SetDeadline(rondo.Now(ctx).Add(p.some(100)))
			case 3:
				if err := p.start(ctx, g, depth); err != nil {
					return err
				}
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

// body takes a few random steps.
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

// main runs the program until its fuel is spent, and checks that nothing is left.
func (p *program) main(ctx context.Context) {
	for p.fuel > 0 && rondo.Check(ctx) == nil {
		// The outer Group takes the errors of the inner one, which are lost if its
		// body panics.
		_ = rondo.Group(ctx, func(outer *rondo.Scope) error {
			defer func() {
				if v := recover(); v != nil && !planned(v) {
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
		for _, task := range p.tasks {
			if !task.Done() {
				p.t.Error("a task outlived all groups")
			}
		}
		p.tasks = nil
	}
	for range 1000 {
		if _, ok := p.queue.TryGet(); !ok {
			break
		}
		p.got++
	}
	if p.put != p.got {
		p.t.Errorf("%d values were put, %d were got", p.put, p.got)
	}
	if p.exit != nil && !p.exit.Cancel() {
		return // the Goexit may have ended any task early
	}
	p.settled(ctx)
	if s := rondo.LoopOf(ctx).Stats(); s.Timers != 0 || s.Tasks != 1 || s.Ready != 0 && !p.uncaught {
		p.t.Errorf("%d timers and %d tasks are left; %d are ready", s.Timers, s.Tasks, s.Ready)
	}
}

// TestRandomPrograms: in every program scopes end in order, locks exclude, queues
// keep count, and nothing is left at the end.
func TestRandomPrograms(t *testing.T) {
	for round := range uint64(20) {
		sim.Test(t, func(ctx context.Context) {
			newProgram(t, rand.New(rand.NewPCG(sim.Rand(ctx).Uint64(), round))).main(ctx)
		})
	}
}

// TestRandomPanics: the same holds on a real loop that turns panics into errors.
// At the end of every second program a callback calls Goexit, on the stack of any
// task.
func TestRandomPanics(t *testing.T) {
	for seed := range uint64(40) {
		before := runtime.NumGoroutine()
		r := rondo.Runner{Recover: true, OnError: func(rondo.TaskInfo, error) {}}
		exits := seed%2 == 1
		var wg sync.WaitGroup
		wg.Go(func() {
			err := r.Run(context.Background(), func(ctx context.Context) error {
				p := newProgram(t, rand.New(rand.NewPCG(seed, 1)))
				p.unit, p.uncaught = 10*time.Microsecond, true
				if exits {
					p.exit = rondo.LoopOf(ctx).CallLater(p.some(200), runtime.Goexit)
				}
				p.main(ctx)
				return nil
			})
			if err != nil {
				t.Errorf("seed %d: Run returned %v", seed, err)
			}
		})
		wg.Wait()
		if left := leak.Settle(before); left > before {
			t.Fatalf("seed %d: %d goroutines are left", seed, left-before)
		}
		if t.Failed() {
			t.Fatalf("seed %d failed", seed)
		}
	}
}

// task returns a task that runs body and recovers its planned panics, which would
// end the loop.
func (p *program) task(depth int) func(ctx context.Context) error {
	return func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				if p.uncaught || !planned(v) {
					panic(v)
				}
				err = errPlanned
			}
		}()
		return p.body(ctx, depth)
	}
}

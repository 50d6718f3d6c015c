package soak

import (
	"context"
	"errors"

	"github.com/rondo-go/rondo"
)

// child runs a task's body and counts itself meanwhile.
func (p *program) child(ctx context.Context, depth int) (int, error) {
	p.children++
	defer func() { p.children-- }()
	return 1, p.task(depth)(ctx)
}

// mapping ranges over a Map, and perhaps leaves it early.
func (p *program) mapping(ctx context.Context, depth int) error {
	if depth > 4 {
		return nil
	}
	limit, n, running, next := 1+p.rnd.IntN(3), p.rnd.IntN(6), 0, 0
	in := func(yield func(int) bool) {
		p.bodies++
		defer func() { p.bodies-- }()
		for i := range n {
			// ctx comes from outside; leaving the range cancels this wait all the same.
			if rondo.Sleep(ctx, p.some(20)) != nil || !yield(i) {
				return
			}
		}
	}
	var last error
	for v, err := range rondo.Map(ctx, limit, in, func(ctx context.Context, i int) (int, error) {
		if running++; running > limit {
			p.t.Errorf("Map runs %d functions at once, with a limit of %d", running, limit)
		}
		defer func() { running-- }()
		_, err := p.child(ctx, depth+1)
		return i, err
	}) {
		if last = err; err == nil && v != next {
			p.t.Errorf("Map yielded %d, want %d", v, next)
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

// several runs some functions at once, by Gather, Race or Settle.
func (p *program) several(ctx context.Context, depth int) error {
	if depth > 4 {
		return nil
	}
	begun, ended := 0, 0
	fns := make([]func(context.Context) (int, error), 1+p.rnd.IntN(3))
	for i := range fns {
		fns[i] = func(ctx context.Context) (int, error) {
			begun++
			defer func() { ended++ }()
			return p.child(ctx, depth+1)
		}
	}
	var err error
	switch p.rnd.IntN(3) {
	case 0:
		_, err = rondo.Gather(ctx, fns...)
	case 1:
		_, err = rondo.Race(ctx, fns...)
	case 2:
		for _, r := range rondo.Settle(ctx, fns...) {
			if r.Err == nil && r.Value != 1 {
				p.t.Error("Settle has no error, and not the value of the function")
			}
		}
	}
	cancelled := rondo.Check(ctx) != nil
	// What is cancelled before it starts them runs none. It may give others a turn first.
	if ended != len(fns) && !(cancelled && begun == 0) {
		p.t.Errorf("%d of %d functions have ended, and %d have begun", ended, len(fns), begun)
	}
	if cancelled {
		return err
	}
	return nil
}

// whichever waits with WaitAny or AsCompleted.
func (p *program) whichever(ctx context.Context, depth int) error {
	if other := p.another(ctx); other != nil && p.rnd.IntN(2) == 0 {
		return p.briefly(ctx, func(ctx context.Context) error {
			ts := []*rondo.Task{other}
			if more := p.another(ctx); more != nil {
				ts = append(ts, more)
			}
			first, err := rondo.WaitAny(ctx, ts...)
			if err == nil && !first.Done() {
				p.t.Error("WaitAny returned a task that has not ended")
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
			p.t.Error("AsCompleted yielded a Future that is not done")
		}
		if p.rnd.IntN(6) == 0 {
			break
		}
	}
	// This waits for the callback, so that no timer of it is left.
	_ = rondo.Shield(ctx, func(ctx context.Context) error { _, err := set.Wait(ctx); return err })
	return rondo.Check(ctx)
}

// listen sets a callback for the end of another task, and perhaps stops it.
func (p *program) listen(ctx context.Context) {
	other := p.another(ctx)
	if other == nil {
		return
	}
	p.callbacks++
	stop := other.OnDone(func() {
		if p.callbacks--; !other.Done() {
			p.t.Error("a callback of OnDone ran before the end of the task")
		}
	})
	if p.rnd.IntN(2) == 0 && stop() {
		p.callbacks--
		if stop() {
			p.t.Error("a second stop of OnDone returned true")
		}
	}
}

// outside waits for a goroutine. Only one task at a time does, because a seed
// does not repeat the order in which goroutines end.
func (p *program) outside(ctx context.Context) error {
	if p.away {
		return nil
	}
	p.away = true
	defer func() { p.away = false }()
	if p.rnd.IntN(2) == 0 {
		v, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 1, nil })
		if err == nil && v != 1 {
			p.t.Errorf("Offload returned %d, want 1", v)
		}
		return err
	}
	ch := make(chan int, 1)
	rondo.Go(ctx, func(context.Context) error { ch <- 1; return nil })
	v, ok, err := rondo.Receive(ctx, ch)
	if err == nil && (v != 1 || !ok) || err != nil && len(ch) > 1 {
		p.t.Errorf("Receive returned %d, %v with the error %v; %d values are left", v, ok, err, len(ch))
	}
	return err
}

// start starts a task in g with Start.
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
		p.t.Error("Start returned before the task called started")
	}
	if errors.Is(err, errPlanned) {
		return nil
	}
	return err
}

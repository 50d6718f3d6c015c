package soak

import (
	"context"
	"iter"

	"github.com/rondo-go/rondo"
)

// A pulling is a Pull that tasks share.
type pulling struct {
	next    func() (int, bool)
	stop    func()
	running bool // the sequence runs, so no other task may call next or stop
	stopped bool
}

// pull makes a Pull and takes some values.
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
					p.t.Error("yield returned true after it had returned false")
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
				p.t.Error("next of a Pull that was stopped returned a value")
			}
		}
	case 1:
		p.pulls = append(p.pulls, x)
	}
	return rondo.Check(ctx)
}

// use reports whether there was one more value.
func (x *pulling) use() bool {
	_, ok := x.next()
	return ok
}

// useAnothers takes a value of a Pull that another task made, or stops it.
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
		p.t.Error("next of a Pull that was stopped returned a value")
	}
	return rondo.Check(ctx)
}

// contained runs body and recovers a planned panic.
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

// coroutine runs body in a coroutine made by iter.Pull.
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

package rondo

// This file is the door by which other goroutines come in. Nothing of a loop may
// be touched from outside it, so whoever is outside hands in a function, and the
// loop runs it at its next turn. The lock is held for a few instructions only,
// and never while anything of the program runs.
//
// It is also the only file of the kernel with a go statement: what runs beside
// the loop is started here and is known to it.

import (
	"context"
	"sync"
	"sync/atomic"
)

// door is the queue of what came in and has not been run. Either it is open,
// and whatever was accepted will run; or it is shut, and nothing is accepted.
type door struct {
	some  atomic.Bool // there may be something in the queue
	mu    sync.Mutex
	in    []entry
	spare []entry // the queue's other half, for reuse
	shut  bool
	ended chan struct{} // closed when Run is about to return
}

func (d *door) pending() bool { return d.some.Load() }

func (d *door) closed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut
}

// empty moves what came in to the loop's own queue.
func (d *door) empty(l *Loop) {
	if !d.pending() {
		return
	}
	d.mu.Lock()
	d.some.Store(false)
	in := d.in
	d.in = d.spare[:0]
	d.mu.Unlock()
	for i, e := range in {
		l.queue.push(e)
		in[i] = entry{}
	}
	l.stats.Posts += uint64(len(in))
	d.spare = in
}

// close shuts the door if nothing is waiting behind it.
func (d *door) close() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.in) > 0 {
		return false
	}
	d.shut = true
	return true
}

// post hands e in and wakes the loop.
func (l *Loop) post(e entry) error {
	d := &l.door
	d.mu.Lock()
	if d.shut {
		d.mu.Unlock()
		return misuse("Post", ErrLoopClosed)
	}
	d.in = append(d.in, e)
	first := !d.some.Swap(true)
	d.mu.Unlock()
	if first {
		l.driver.Wake()
	}
	return nil
}

// Post hands fn to the loop, which runs it as a callback at its next turn, in
// the order in which functions came in. Any goroutine may call it; it never
// suspends and never blocks. fn must not wait. After the loop has ended Post
// returns ErrLoopClosed and fn never runs; if it returns nil, fn runs.
func (l *Loop) Post(fn func()) error {
	if fn == nil {
		panic("rondo: Loop.Post with a nil function")
	}
	return l.post(entry{call: &Handle{loop: l, fn: fn}})
}

// do runs fn on the loop: at once if the caller is there, else by Post. After
// the loop's end there is nothing left to do it to.
func (l *Loop) do(fn func()) {
	if l.inside() {
		fn()
		return
	}
	_ = l.post(entry{call: &Handle{loop: l, fn: fn}})
}

// waitOutside waits for something of this loop on a goroutine that is not one
// of its tasks. when is called on the loop, and calls done there when the thing
// has happened. A task of another loop is suspended, any other goroutine
// blocked. ctx ends the waiting.
func (l *Loop) waitOutside(ctx context.Context, when func(done func(err error))) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if s := scopeOf(ctx); s != nil && s.loop != l && s.loop.inside() {
		return l.waitAcross(ctx, s.loop, when)
	}
	result := make(chan error, 1)
	if err := l.post(entry{call: &Handle{loop: l, fn: func() { when(func(err error) { result <- err }) }}}); err != nil {
		// The loop has ended, so nothing changes any more: ask where we are.
		<-l.door.ended
		when(func(err error) { result <- err })
		select {
		case err := <-result:
			return err
		default:
			return err
		}
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.door.ended:
		select {
		case err := <-result:
			return err
		default:
			return misuse("Wait", ErrLoopClosed)
		}
	}
}

// waitAcross is waitOutside for a task of the loop mine.
func (l *Loop) waitAcross(ctx context.Context, mine *Loop, when func(done func(err error))) error {
	f := NewFuture[unit](ctx)
	err := l.post(entry{call: &Handle{loop: l, fn: func() {
		when(func(err error) {
			if err != nil {
				f.Fail(err)
			} else {
				f.Set(unit{})
			}
		})
	}}})
	if err != nil {
		return err
	}
	_, err = f.Wait(ctx)
	return err
}

// Submit starts fn in a task of the loop's root scope, from any goroutine, and
// returns a Future of its result. It never suspends. If the loop has ended the
// Future has failed with ErrLoopClosed. If it ends before fn does, fn's ctx is
// cancelled as every task's is.
func Submit[T any](l *Loop, fn func(ctx context.Context) (T, error)) *Future[T] {
	f := &Future[T]{loop: l}
	err := l.Post(func() { f.run(&l.root, &l.root, fn) })
	if err != nil {
		f.Fail(misuse("Submit", ErrLoopClosed))
	}
	return f
}

// beside runs fn on a goroutine of its own. Whoever calls it sees to it that it
// ends.
func beside(fn func()) { go fn() }

// hold notes that something outside may wake the loop, n more than before: a
// descriptor that is watched, work that is offloaded. While there is any, a
// loop in which nothing can run is idle, not in deadlock.
func (l *Loop) hold(n int) { l.outside += n }

package rondo

// Map works on several elements of a sequence at once and hands on the results in order.
// The input is pulled by a task of its own, because it may suspend while results are ready;
// and it is pulled no further than the limit allows, because it may be endless.

import (
	"context"
	"iter"
	"reflect"

	"github.com/rondo-go/rondo/internal/errtree"
)

// Map ranges over the results of fn for the elements of in, in the order of the elements. fn
// runs in a task for each element, at most limit at once. Another task pulls the elements, at
// most limit ahead of the body of the range, and not before the range begins. The sequence
// may suspend, as a Queue's All does.
//
// If fn fails, its error comes in the element's place, and the rest goes on; leave the range to
// stop. A panic of fn in a Runner with Recover is such an error. Leaving the range, in whatever
// way, cancels the running calls of fn and the current wait of the sequence, and waits for both
// to end; elements that were pulled by then are lost. If ctx is cancelled, or the sequence
// panics in a Runner with Recover, the cause is the last error of the range, and comes when
// everything has ended.
//
// Leaving the range ends each wait of the sequence whose ctx is that of Map or of a scope
// around it. If the sequence waits with another ctx, or in a Shield, leaving the range takes
// until that wait is over.
//
// Map panics if limit is not positive.
//
//go:noinline
func Map[T, R any](ctx context.Context, limit int, in iter.Seq[T], fn func(context.Context, T) (R, error)) iter.Seq2[R, error] {
	switch {
	case limit <= 0:
		panic("rondo: Map with a limit that is not positive")
	case in == nil:
		panic("rondo: Map with a nil sequence")
	case fn == nil:
		panic("rondo: Map with a nil function")
	}
	return func(yield func(R, error) bool) {
		m := &mapping[T, R]{limit: limit, fn: fn}
		left := false
		var inner *Scope
		err := Group(ctx, func(g *Scope) error {
			inner = g
			feeder := g.loop.spawn(g, g, func(ctx context.Context) error { m.feed(ctx, g, in); return nil }, reflect.ValueOf(in).Pointer(), 0)
			feeder.ensureExtra().confined = true
			for {
				e, err := m.next(g)
				if e == nil || err != nil {
					return err
				}
				if !yield(e.result, e.err) {
					left = true
					g.Cancel(nil)
					return nil
				}
			}
		})
		switch {
		case err == nil:
		case left:
			// The range was left, so the panic of in or of a clean-up counts as an error of
			// the scope around. That the Map was cancelled from above does not.
			if x := inner.extra; x != nil && len(x.errs) > 0 {
				Go(ctx, func(context.Context) error { return errtree.Join(x.errs) })
			}
		default:
			var none R
			yield(none, err)
		}
	}
}

// mapping is one range over a Map. The elements in window were pulled and not yet handed on;
// there are never more than limit.
type mapping[T, R any] struct {
	limit  int
	fn     func(context.Context, T) (R, error)
	window []*element[R]
	ended  bool     // the input has
	room   WaitList // the feeder, while the window is full
	ready  WaitList // the range, while the first of the window is not done
}

// An element is one call of fn.
type element[R any] struct {
	result R
	err    error
	done   bool
}

// feed pulls the input and starts fn for each element, for which it has room.
func (m *mapping[T, R]) feed(ctx context.Context, g *Scope, in iter.Seq[T]) {
	defer func() {
		m.ended = true
		m.ready.Wake()
	}()
	for v := range in {
		if Checkpoint(ctx) != nil {
			return
		}
		e := new(element[R])
		m.window = append(m.window, e)
		g.loop.spawn(g, g, func(ctx context.Context) error {
			e.result, e.err = contained(ctx, func(ctx context.Context) (R, error) { return m.fn(ctx, v) })
			e.done = true
			m.ready.Wake()
			return nil
		}, reflect.ValueOf(m.fn).Pointer(), 0)
		for len(m.window) >= m.limit {
			if m.room.Park(ctx, Reason{What: "map"}) != nil {
				return
			}
		}
	}
}

// next takes the first element off the window when it is done. It returns nil after
// the last one.
func (m *mapping[T, R]) next(ctx context.Context) (*element[R], error) {
	if err := Checkpoint(ctx); err != nil {
		return nil, err
	}
	for len(m.window) == 0 || !m.window[0].done {
		if len(m.window) == 0 && m.ended {
			return nil, nil
		}
		if err := m.ready.Park(ctx, Reason{What: "map"}); err != nil {
			return nil, err
		}
	}
	e := m.window[0]
	m.window[0] = nil
	m.window = m.window[1:]
	m.room.Wake()
	return e, nil
}

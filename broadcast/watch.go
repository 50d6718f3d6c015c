package broadcast

import (
	"context"
	"iter"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/nocopy"
)

// A Watch holds one value, and wakes those that wait for the next one. A reader that
// is slow sees the latest value and not each. The zero value holds nothing yet and is
// ready.
type Watch[T any] struct {
	// Name identifies the Watch in rondo tree and in reports.
	Name string

	value   T
	version uint64 // grows with each Set; 0: no value yet
	closed  bool
	changed rondo.WaitList
}

// NewWatch makes a Watch that holds v.
func NewWatch[T any](v T) *Watch[T] { return &Watch[T]{value: v, version: 1} }

// Set makes v the value and wakes all that wait for one. It never suspends. After
// Close it does nothing.
func (w *Watch[T]) Set(v T) {
	if w.closed {
		return
	}
	w.value = v
	w.version++
	w.changed.WakeAll()
}

// Value returns the value, the zero value of T before the first Set. It never suspends.
func (w *Watch[T]) Value() T { return w.value }

// Close ends the Watch. A reader that has not had the last value still gets it, and
// then ErrClosed. Closing it again does nothing. It never suspends.
func (w *Watch[T]) Close() {
	w.closed = true
	w.changed.WakeAll()
}

// Reader returns a new reader of w, for one task. The first value that it returns is
// the present one, if there is one. A reader that is not needed any more is just left.
func (w *Watch[T]) Reader() *Reader[T] { return &Reader[T]{watch: w} }

// A Reader returns the values of a Watch that are new to it.
type Reader[T any] struct {
	_     nocopy.Field
	watch *Watch[T]
	seen  uint64 // the version that was returned last
}

// Next returns the latest value. If that is the one that it returned last, it waits for
// the next. It returns ErrClosed if there is none to come, and the cause if ctx is
// cancelled first.
func (r *Reader[T]) Next(ctx context.Context) (v T, err error) {
	if r.ready() {
		err = rondo.Checkpoint(ctx)
	} else {
		r.watch.changed.Of = &r.watch.Name
		err = r.watch.changed.Park(ctx, rondo.Reason{What: "watch"})
	}
	if err != nil {
		return v, err
	}
	return r.take()
}

// NextCase is Next as a case of rondo.Select. The value is in *v when the case is taken
// without an error.
func (r *Reader[T]) NextCase(v *T) rondo.Case {
	if v == nil {
		panic("rondo: broadcast.Reader.NextCase with a nil pointer")
	}
	return rondo.Case{On: (*readerCase[T])(r), To: v}
}

// All ranges over the latest values, waiting for each, until the Watch is closed or
// ctx is cancelled. The range panics if ctx belongs to no loop.
//
//go:noinline
func (r *Reader[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := r.Next(ctx)
			if err != nil && rondo.Current(ctx) == nil {
				panic(err.Error())
			}
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

func (r *Reader[T]) ready() bool { return r.seen != r.watch.version || r.watch.closed }

// take returns the value that is new, of which there is one unless w is closed.
func (r *Reader[T]) take() (v T, err error) {
	if r.seen == r.watch.version {
		return v, ErrClosed
	}
	r.seen = r.watch.version
	return r.watch.value, nil
}

type readerCase[T any] Reader[T]

func (c *readerCase[T]) Try(_ context.Context, v any) (bool, error) {
	if !(*Reader[T])(c).ready() {
		return false, nil
	}
	return true, c.End(v, true)
}

func (c *readerCase[T]) Begin(context.Context) (*rondo.WaitList, rondo.Reason) {
	c.watch.changed.Of = &c.watch.Name
	return &c.watch.changed, rondo.Reason{What: "watch"}
}

func (c *readerCase[T]) End(v any, woken bool) error {
	if !woken {
		return nil
	}
	value, err := (*Reader[T])(c).take()
	if err == nil {
		*v.(*T) = value
	}
	return err
}

package stdctx

import (
	"context"
	"time"
)

// std is the context of the standard library that stands for a State. Package
// context gives out context.Canceled for a cancel function that it made itself;
// context.DeadlineExceeded it takes only from a parent. So std hangs on a root
// of its own.
type std struct {
	context.Context
	cancel context.CancelCauseFunc
	root   *root
	ending boolean // end has begun
}

func newStd(values context.Context) *std {
	s := &std{root: &root{values: values, done: make(chan struct{})}}
	s.Context, s.cancel = context.WithCancelCause(s.root)
	return s
}

// end ends the context. The owner of the State and a goroutine that has just
// made std may call it at the same moment, with the same errors: the first does
// the work, because a cancel that overtook the root's end would change Err.
func (s *std) end(err, cause error) {
	if !s.ending.CompareAndSwap(false, true) {
		return
	}
	if err == context.DeadlineExceeded {
		s.root.end(err)
	}
	s.cancel(cause)
}

// root is a context that can end with any error. It has one child, and implements
// the method AfterFunc that package context asks for, so that no goroutine has to
// wait for its end.
type root struct {
	values context.Context
	done   chan struct{}
	mu     mutex
	err    error
	after  func() // what the child does at the end
}

func (r *root) Deadline() (time.Time, bool) { return time.Time{}, false }
func (r *root) Done() <-chan struct{}       { return r.done }
func (r *root) Value(key any) any           { return valueOf(r.values, key) }

func (r *root) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *root) AfterFunc(after func()) (stop func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = after
	return func() bool { return true }
}

// end is called once.
func (r *root) end(err error) {
	r.mu.Lock()
	r.err = err
	r.mu.Unlock()
	close(r.done)
	r.after()
}

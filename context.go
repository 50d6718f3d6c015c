package rondo

// This file is the side of a scope that other goroutines see: context.Context.
// Its methods may be called by any goroutine at any time, so here, unlike in
// the rest of the kernel, every access is atomic or under a lock. The loop
// decides; this side only tells.
//
// A context of the standard library that is made from a scope costs nothing
// until somebody asks the scope for Done; then the scope makes one of its own,
// outer, which stands for it among the others. It ends with the scope.

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// never is the deadline of a scope that has none.
const never int64 = math.MaxInt64

// marks are what a scope is or has become.
type marks struct{ bits atomic.Uint32 }

const (
	markShield = 1 << iota // it is not cancelled when its parent is
	markLeft               // it has been left; any goroutine may look for it
	markPull               // it is the own scope of a Pull's task
)

func (s *Scope) is(mark uint32) bool { return s.marks.bits.Load()&mark != 0 }

func (s *Scope) mark(mark uint32) { s.marks.bits.Store(s.marks.bits.Load() | mark) }

type face struct {
	decided atomic.Pointer[verdict] // what cancelled it
	ctx     context.Context         // what the scope was opened with: its values
	shown   atomic.Pointer[shown]
}

// shown is what few scopes have to show.
type shown struct {
	deadline atomic.Int64 // 0: none
	mu       sync.Mutex   // guards the making of outer
	outer    atomic.Pointer[outer]
}

// show gives the face's shown, made at the first call.
func (f *face) show() *shown {
	if s := f.shown.Load(); s != nil {
		return s
	}
	f.shown.CompareAndSwap(nil, new(shown))
	return f.shown.Load()
}

// outer gives the context of the standard library that stands for the scope, if
// there is one.
func (f *face) outer() *outer {
	if s := f.shown.Load(); s != nil {
		return s.outer.Load()
	}
	return nil
}

// outer is the context of the standard library that stands for a scope. The
// standard library's own Canceled comes from cancel; DeadlineExceeded cannot be
// given to it, so it comes from above: from the feet it stands on.
type outer struct {
	context.Context
	cancel context.CancelCauseFunc
	feet   *feet
}

// feet is a context that can be cancelled with any error.
type feet struct {
	context.Context // values
	done            chan struct{}
	mu              sync.Mutex
	err             error
	fall            func()
}

func (f *feet) Deadline() (time.Time, bool) { return time.Time{}, false }
func (f *feet) Done() <-chan struct{}       { return f.done }
func (f *feet) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Value hides the cancellations above: the scope hears of those by itself, and
// a Shield does not.
func (f *feet) Value(key any) any { return context.WithoutCancel(f.Context).Value(key) }

// AfterFunc is asked for by package context, once, when outer is made: it spares
// a goroutine.
func (f *feet) AfterFunc(fall func()) (stop func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fall = fall
	return func() bool { return true }
}

func (f *feet) end(err error) {
	f.mu.Lock()
	first := f.err == nil
	f.err = err
	f.mu.Unlock()
	if first {
		close(f.done)
		f.fall()
	}
}

func (s *Scope) verdict() *verdict { return s.face.decided.Load() }

// over is the verdict of a scope that has simply ended, as far as the contexts
// made from it are concerned.
var over = &verdict{err: context.Canceled, cause: context.Canceled}

// cancel publishes v. The store comes first and the load after it; standard
// does the same in the opposite order, so that one of the two sees the other.
func (f *face) cancel(v *verdict) {
	f.decided.Store(v)
	if o := f.outer(); o != nil {
		o.end(v)
	}
}

// end releases the contexts that were made from a scope when it is left. A
// scope that has ended is cancelled for whoever still holds it.
func (f *face) end() {
	if f.decided.Load() == nil {
		f.cancel(over)
	} else if o := f.outer(); o != nil {
		o.cancel(nil)
	}
}

func (o *outer) end(v *verdict) {
	if v.err == context.DeadlineExceeded {
		o.feet.end(v.err)
	}
	o.cancel(v.cause)
}

func (f *face) setDeadline(at int64) {
	if at == never {
		at = 0
	}
	f.show().deadline.Store(at)
}

// deadline gives the scope's own deadline.
func (f *face) deadline() int64 {
	if s := f.shown.Load(); s != nil && s.deadline.Load() != 0 {
		return s.deadline.Load()
	}
	return never
}

// standard gives the context of the standard library that stands for the scope,
// made at the first call.
func (s *Scope) standard() *outer {
	shown := s.face.show()
	if o := shown.outer.Load(); o != nil {
		return o
	}
	shown.mu.Lock()
	defer shown.mu.Unlock()
	if o := shown.outer.Load(); o != nil {
		return o
	}
	o := &outer{feet: &feet{Context: s.face.ctx, done: make(chan struct{})}}
	o.Context, o.cancel = context.WithCancelCause(o.feet)
	shown.outer.Store(o)
	if v := s.sentence(); v != nil {
		o.end(v)
	}
	return o
}

// sentence is the verdict for those outside: also a scope that has simply been
// left is over for them.
func (s *Scope) sentence() *verdict {
	if v := s.verdict(); v != nil {
		return v
	}
	if s.is(markLeft) {
		return over
	}
	return nil
}

// Deadline gives the time at which the scope will be cancelled: its own
// deadline, or an earlier one above it.
func (s *Scope) Deadline() (deadline time.Time, ok bool) {
	if shown := s.face.shown.Load(); shown != nil && shown.deadline.Load() != 0 {
		deadline, ok = s.loop.driver.Time(shown.deadline.Load()), true
	}
	if s.is(markShield) || s.face.ctx == nil {
		return deadline, ok
	}
	if above, has := s.face.ctx.Deadline(); has && (!ok || above.Before(deadline)) {
		return above, true
	}
	return deadline, ok
}

// Done gives a channel that is closed when the scope is cancelled or has been
// left. A task must not receive from it: that would stop its loop. It is for
// other goroutines, and for the standard library.
func (s *Scope) Done() <-chan struct{} { return s.standard().Done() }

// Err is nil until the scope is cancelled, and context.Canceled or
// context.DeadlineExceeded from then on. context.Cause gives the cause.
func (s *Scope) Err() error {
	if v := s.sentence(); v != nil {
		return v.err
	}
	return nil
}

// Value gives the value of key in the ctx that the scope was opened with.
func (s *Scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	// What remains may be package context's own question for the context that
	// it knows how to hang a child on, which is outer. It makes one for each
	// unknown key, so outer has to exist only if somebody asked for Done.
	if o := s.face.outer(); o != nil {
		return o.Value(key)
	}
	if s.sentence() != nil {
		return s.standard().Value(key)
	}
	return s.face.values(key)
}

// values asks the ctx below without letting package context find the contexts
// that could be cancelled there.
func (f *face) values(key any) any {
	if f.ctx == nil {
		return nil
	}
	return context.WithoutCancel(f.ctx).Value(key)
}

// String says what it is: package context prints the chain of a context so.
func (s *Scope) String() string { return "rondo.Scope" }

// scopeKey is the key under which a context finds the scope it belongs to.
type scopeKey struct{}

// scopeOf gives the scope that encloses ctx most closely, or nil.
func scopeOf(ctx context.Context) *Scope {
	if s, ok := ctx.(*Scope); ok {
		return s
	}
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}

// watchContext cancels s when ctx is cancelled, a context of the standard
// library that stands between s and the scope above it. If nothing stands
// between them that could be cancelled, there is nothing to watch.
func (s *Scope) watchContext(ctx context.Context, above *Scope) {
	if ctx.Done() == nil || above != nil && (context.Context(above) == ctx || ctx.Done() == above.Done()) {
		return
	}
	s.more().unwatch = s.loop.lookOut(ctx, func() { s.cancel(verdictOf(ctx)) })
	if ctx.Err() != nil {
		s.cancel(verdictOf(ctx))
	}
}

// watchOutside lets ctx end the wait that t is about to begin under s, which is
// the scope next above ctx.
func (s *Scope) watchOutside(t *Task, ctx context.Context) (stop func()) {
	if ctx.Done() == s.Done() {
		return func() {}
	}
	w, wait := t.worker, t.worker.switches
	unwatch := s.loop.lookOut(ctx, func() {
		if w.job == t && w.switches == wait && t.state == stateWaiting {
			t.wake(verdictOf(ctx))
		}
	})
	return func() { unwatch() }
}

// A lookout is a context of the standard library that the loop itself watches.
type lookout struct {
	ctx context.Context
	fn  func() // nil once it has been called
}

// lookOut calls fn on the loop when ctx is cancelled, unless stop comes first.
// Package context tells of a cancellation on a goroutine of its own, at a moment
// that cannot be repeated; so a loop in a simulation looks for itself.
func (l *Loop) lookOut(ctx context.Context, fn func()) (stop func() bool) {
	if l.virtual {
		w := &lookout{ctx, fn}
		l.lookouts = append(l.lookouts, w)
		return func() bool {
			l.lookouts = slices.DeleteFunc(l.lookouts, func(other *lookout) bool { return other == w })
			return w.fn != nil
		}
	}
	l.outside++
	end := context.AfterFunc(ctx, func() { _ = l.post(entry{call: &Handle{fn: fn}}) })
	return func() bool {
		l.outside--
		return end()
	}
}

// lookAbout makes ready what lookouts wait for.
func (l *Loop) lookAbout() {
	for _, w := range l.lookouts {
		if w.fn != nil && w.ctx.Err() != nil {
			l.queue.push(entry{call: &Handle{loop: l, fn: w.fn}})
			w.fn = nil
		}
	}
}

func verdictOf(ctx context.Context) *verdict {
	return &verdict{err: ctx.Err(), cause: context.Cause(ctx)}
}

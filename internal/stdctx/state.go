// Package stdctx is the side of a scope that other goroutines see: its end, its
// deadline and its values, as package context wants them.
//
// The law: the end is stored once, before anything else shows it, and every
// context made for the standard library ends with exactly that. One goroutine,
// the loop, stores it; any goroutine may read it, and may make the context for
// the standard library at the same moment. Each of the two writes its own word
// first and reads the other's after that, so at least one of them sees both.
//
// With the build tag interleave the atomic operations are steps of a scheduler,
// and the test tries every order of them.
package stdctx

import (
	"context"
	"math"
	"reflect"
	"unsafe"
)

// A State is what goroutines see of something that ends, once, with a value of
// type C. Its zero value has not ended.
//
// Begin, SetDeadline and End may be called only by the owner, one at a time. The
// other methods may be called by any goroutine at any time after Begin.
type State[C any, P Ender[C]] struct {
	ended  pointer[C]
	values context.Context
	lazy   pointer[lazy]
}

// An Ender says why something ended: what Err returns, context.Canceled or
// context.DeadlineExceeded, and what context.Cause returns.
type Ender[C any] interface {
	*C
	Reason() (err, cause error)
}

// lazy is what few states need. It is made when it is first needed.
type lazy struct {
	deadline integer // 0 if there is none, also for readers from outside; below 1: one less
	mu       mutex   // held to make std
	std      pointer[std]
}

// Begin notes the context from which values come. nil stands for none.
func (s *State[C, P]) Begin(values context.Context) { s.values = values }

// Parent returns the context given to Begin.
func (s *State[C, P]) Parent() context.Context { return s.values }

// Ended returns what the state has ended with, or nil.
func (s *State[C, P]) Ended() *C { return s.ended.Load() }

// Exposed reports whether package context knows the state, or it has a deadline.
func (s *State[C, P]) Exposed() bool { return s.lazy.Load() != nil }

// End ends the state with c. It must be called at most once.
func (s *State[C, P]) End(c *C) {
	s.ended.Store(c)
	if made := s.made(); made != nil {
		made.end(P(c).Reason())
	}
}

// Std returns the context that stands for the state in package context. It is
// made at the first call.
func (s *State[C, P]) Std() context.Context {
	lazy := s.ensureLazy()
	if made := lazy.std.Load(); made != nil {
		return made
	}
	lazy.mu.Lock()
	defer lazy.mu.Unlock()
	if made := lazy.std.Load(); made != nil {
		return made
	}
	made := newStd(s.values)
	lazy.std.Store(made)
	if c := s.ended.Load(); c != nil {
		made.end(P(c).Reason())
	}
	return made
}

// Deadline returns the instant given to SetDeadline, if there is one. Any instant may be one,
// 0 and those before it included.
func (s *State[C, P]) Deadline() (at int64, ok bool) {
	if lazy := s.lazy.Load(); lazy != nil {
		at = lazy.deadline.Load()
	}
	if at < 0 {
		return at + 1, true
	}
	return at, at != 0
}

// SetDeadline notes a deadline, or that there is none. It is one store, so that a reader finds
// the one before or this one.
func (s *State[C, P]) SetDeadline(at int64, ok bool) {
	switch {
	case !ok:
		at = 0
	case at <= 0:
		at = max(at, math.MinInt64+1) - 1
	}
	if ok || s.lazy.Load() != nil {
		s.ensureLazy().deadline.Store(at)
	}
}

// Internal reports whether key may be package context's own question for the context on which
// it can hang a child. Only Value answers that. For any other key Parent can be asked, which
// allocates nothing.
func Internal(key any) bool { return internalKey == nil || reflect.TypeOf(key) == internalKey }

// question is the key of that question; nil if it is not known. Nothing outside package context
// can name it, but Cause of a context that has ended asks with it.
var question = func() (asked any) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	l := listener{Context: ended}
	_ = context.Cause(&l)
	for _, key := range l.keys {
		asked = key
	}
	return asked
}()

var internalKey = reflect.TypeOf(question)

// Decider returns the context of package context whose end is that of ctx, of which done is the
// Done: ctx itself, or one that it wraps. It returns nil if ctx has an end of its own.
func Decider(ctx context.Context, done <-chan struct{}) context.Context {
	if question == nil {
		return nil
	}
	c, ok := ctx.Value(question).(context.Context)
	if t := reflect.TypeOf(c); !ok || t.Kind() != reflect.Pointer || t.Elem().PkgPath() != "context" || c.Done() != done {
		return nil
	}
	return c
}

// A listener is a context that notes for which keys it is asked.
type listener struct {
	context.Context
	keys []any
}

func (l *listener) Value(key any) any {
	l.keys = append(l.keys, key)
	return nil
}

// Value returns the value of key, as context.Context wants it.
//
// If the key may be package context's own question for the context on which it can hang a
// child, that is the one of Std. So Std is asked whenever it exists, and must exist when the
// state has ended; otherwise the question is kept from the contexts above, whose end is not
// this state's.
func (s *State[C, P]) Value(key any) any {
	if made := s.made(); made != nil {
		return made.Value(key)
	}
	if s.ended.Load() != nil {
		return s.Std().Value(key)
	}
	return valueOf(s.values, key)
}

// made returns the context of Std if there is one.
func (s *State[C, P]) made() *std {
	if lazy := s.lazy.Load(); lazy != nil {
		return lazy.std.Load()
	}
	return nil
}

func (s *State[C, P]) ensureLazy() *lazy {
	if l := s.lazy.Load(); l != nil {
		return l
	}
	s.lazy.CompareAndSwap(nil, new(lazy))
	return s.lazy.Load()
}

// valueOf returns the value of key in ctx, without letting package context find
// the contexts there that can be cancelled.
func valueOf(ctx context.Context, key any) any {
	if ctx == nil {
		return nil
	}
	return context.WithoutCancel(ctx).Value(key)
}

// EndedAt and LazyAt are where in a State its end stands, and the memory that
// begins with its deadline: for those who look into the program from outside.
const (
	EndedAt = unsafe.Offsetof(layout{}.ended)
	LazyAt  = unsafe.Offsetof(layout{}.lazy)
)

type layout = State[nothing, *nothing]

type nothing struct{}

func (*nothing) Reason() (err, cause error) { return nil, nil }

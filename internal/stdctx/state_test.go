package stdctx

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

type key struct{}

// reason is an end for the tests.
type reason struct{ err, cause error }

func (r *reason) Reason() (err, cause error) { return r.err, r.cause }

type state = State[reason, *reason]

// TestStd ends a state of which a context of the standard library was made.
func TestStd(t *testing.T) {
	failure := errors.New("failure")
	for _, end := range []reason{
		{context.Canceled, failure},
		{context.DeadlineExceeded, context.DeadlineExceeded},
		{context.Canceled, context.Canceled},
	} {
		for _, before := range []bool{true, false} {
			var s state
			s.Begin(context.WithValue(context.Background(), key{}, "value"))
			if before {
				_ = s.Std()
			}
			if s.Ended() != nil || before && s.Std().Err() != nil {
				t.Fatal("a state that has not ended has an end")
			}
			s.End(&end)
			<-s.Std().Done()
			if err, cause := s.Std().Err(), context.Cause(s.Std()); err != end.err || cause != end.cause {
				t.Errorf("ended with %v, cause %v; want %v, cause %v", err, cause, end.err, end.cause)
			}
			if s.Value(key{}) != "value" {
				t.Errorf("the value is %v", s.Value(key{}))
			}
		}
	}
}

// TestValueHidesParents hangs a state below a context that is cancelled: the
// state has an end of its own.
func TestValueHidesParents(t *testing.T) {
	above, cancel := context.WithCancel(context.Background())
	var s state
	s.Begin(above)
	cancel()
	if s.Std().Err() != nil {
		t.Fatal("the end of the context above is the state's")
	}
}

// TestDeadline sets deadlines, among them instants that a zero could be taken for, and takes
// them back.
func TestDeadline(t *testing.T) {
	var s state
	s.SetDeadline(0, false)
	if _, ok := s.Deadline(); ok || s.lazy.Load() != nil {
		t.Fatal("a state without a deadline has the memory for one")
	}
	for _, want := range []int64{7, 0, -1, -7, math.MaxInt64, math.MinInt64 + 1} {
		s.SetDeadline(want, true)
		if at, ok := s.Deadline(); at != want || !ok {
			t.Fatalf("the deadline is %d, %v; want %d", at, ok, want)
		}
		s.SetDeadline(0, false)
		if at, ok := s.Deadline(); ok {
			t.Fatalf("the deadline is %d, want none", at)
		}
	}
}

// TestInternal: whatever package context asks of a context to find what it can hang a child on
// is known as its question, and no key of a program is taken for it.
func TestInternal(t *testing.T) {
	l := &listener{Context: endless{context.Background()}}
	_, cancel := context.WithCancel(l)
	defer cancel()
	defer context.AfterFunc(l, func() {})()
	if len(l.keys) < 2 || internalKey == nil {
		t.Fatalf("package context has asked %d times, want at least twice", len(l.keys))
	}
	for _, k := range l.keys {
		if !Internal(k) {
			t.Errorf("package context asks for a %T, which is not known as its question", k)
		}
	}
	for _, k := range []any{nil, key{}, "key", 1, new(key)} {
		if Internal(k) {
			t.Errorf("a %T is taken for package context's question", k)
		}
	}
}

// endless is a context that never ends, though it says that it may.
type endless struct{ context.Context }

func (endless) Done() <-chan struct{} { return make(chan struct{}) }

func (endless) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

// TestDecider: a context that ends when one of package context does has that one as its
// decider, and one that ends by itself has none.
func TestDecider(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	timed, stop := context.WithTimeout(context.WithValue(cancelled, key{}, "value"), time.Hour)
	defer cancel()
	defer stop()
	type wrapped struct{ context.Context }
	for name, c := range map[string]struct {
		ctx  context.Context
		ends bool
	}{
		"cancelled":      {cancelled, true},
		"timed":          {timed, true},
		"with a value":   {context.WithValue(timed, key{}, "value"), true},
		"wrapped":        {wrapped{timed}, true},
		"its own Done":   {own{timed}, false},
		"without cancel": {context.WithoutCancel(timed), false},
		"background":     {context.Background(), false},
	} {
		got := Decider(c.ctx, c.ctx.Done())
		if (got != nil) != c.ends || c.ends && got.Done() != c.ctx.Done() {
			t.Errorf("%s: the decider is %v", name, got)
		}
	}
}

// own is a context with an end of its own.
type own struct{ context.Context }

func (own) Done() <-chan struct{} { return make(chan struct{}) }

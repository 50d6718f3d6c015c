package stdctx

import (
	"context"
	"errors"
	"testing"
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

// TestDeadline sets a deadline and takes it back.
func TestDeadline(t *testing.T) {
	var s state
	s.SetDeadline(0)
	if s.lazy.Load() != nil || s.Deadline() != 0 {
		t.Fatal("a state without a deadline has the memory for one")
	}
	s.SetDeadline(7)
	if s.Deadline() != 7 {
		t.Fatalf("the deadline is %d, want 7", s.Deadline())
	}
	s.SetDeadline(0)
	if s.Deadline() != 0 {
		t.Fatalf("the deadline is %d, want none", s.Deadline())
	}
}

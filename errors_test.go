package rondo

import (
	"context"
	"errors"
	"testing"
)

// TestTakenErrorsLeaveNothing: a loop keeps the error of a task for its report until a caller has
// taken it, and no longer.
func TestTakenErrorsLeaveNothing(t *testing.T) {
	failure := errors.New("failure")
	err := Run(t.Context(), func(ctx context.Context) error {
		l := scopeOf(ctx).loop
		for range 100 {
			task := Go(ctx, func(context.Context) error { return failure })
			for !task.Done() {
				if err := Yield(ctx); err != nil {
					return err
				}
			}
			before := l.unobserved.Empty()
			if err := task.Err(); err != failure || before || !l.unobserved.Empty() {
				t.Fatalf("the error is %v; nothing is kept before: %v, and after: %v", err, before, l.unobserved.Empty())
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

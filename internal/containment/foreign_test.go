package containment_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/shard"
)

// TestJoinedErrorsStay: what the tasks of a function have failed with is not lost when a method
// of the function's own error panics, at the end of the task that a server runs it in.
func TestJoinedErrorsStay(t *testing.T) {
	r := &shard.Runner{Loops: 2}
	err := r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
			rondo.Go(ctx, func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return errPlain })
			return 0, hostile{}
		})
		if text := fmt.Sprint(err); !strings.Contains(text, "plain") || !strings.Contains(text, "hostile") {
			t.Errorf("the call returned %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRangesOverHostileCauses: a range that a cancellation ends calls no method of the cause.
func TestRangesOverHostileCauses(t *testing.T) {
	err := shard.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		var w broadcast.Watch[int]
		topic := new(broadcast.Topic[int])
		ended := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, wait := range []func(ctx context.Context){
				func(ctx context.Context) { w.Reader().All(ctx)(func(int) bool { return true }) },
				func(ctx context.Context) { topic.Subscribe(1, broadcast.Wait).All(ctx)(func(int) bool { return true }) },
				func(ctx context.Context) { shard.NewChan[int](1).All(ctx)(func(int) bool { return true }) },
			} {
				g.Go(func(ctx context.Context) error { wait(ctx); ended++; return nil })
			}
			_ = rondo.Yield(g)
			return hostile{}
		})
		if ended != 3 || fmt.Sprint(err) != "hostile" {
			t.Errorf("%d ranges ended, and the Group returned %v", ended, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

package kerneltest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestDebugReusesLists: with Debug a WaitList can be used again and again, and
// wakes tasks in their order.
func TestDebugReusesLists(t *testing.T) {
	_, err := debugged(t, func(ctx context.Context) error {
		var list rondo.WaitList
		for range 3 {
			var order []int
			for i := range 3 {
				rondo.Go(ctx, func(ctx context.Context) error {
					if err := list.Park(ctx, rondo.Reason{What: "test"}); err != nil {
						return err
					}
					order = append(order, i)
					return nil
				})
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if n := list.Len(); n != 3 {
				t.Errorf("%d tasks wait, want 3", n)
			}
			list.Wake()
			list.WakeAll()
			if list.Wake() || list.Len() != 0 {
				t.Error("a task still waits")
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if fmt.Sprint(order) != "[0 1 2]" {
				t.Errorf("the tasks woke in the order %v", order)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A report is a call of OnError.
type report struct {
	about rondo.TaskInfo
	err   error
}

// debugged runs main with Debug and returns what OnError was called with.
func debugged(t *testing.T, main func(ctx context.Context) error) (reports []report, err error) {
	t.Helper()
	r := rondo.Runner{Debug: true, EndDeadlock: time.Millisecond, SlowStep: time.Hour, OnError: func(about rondo.TaskInfo, err error) {
		reports = append(reports, report{about, err})
	}}
	err = r.Run(context.Background(), main)
	return reports, err
}

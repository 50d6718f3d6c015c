package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestDebugReusesLists: what is noted of a list in Debug does not disturb it.
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
				t.Errorf("%d wait", n)
			}
			list.Wake()
			list.WakeAll()
			if list.Wake() || list.Len() != 0 {
				t.Error("somebody waits still")
			}
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if fmt.Sprint(order) != "[0 1 2]" {
				t.Errorf("woken in the order %v", order)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// outside runs fn on another goroutine while the loop stands still, and gives
// what it panicked with.
func outside(fn func()) (panicked any) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		fn()
	}()
	return <-done
}

// TestDeadlockAtTheEnd: that the loop looks at how long its end takes does not
// keep it from seeing that it can never come.
func TestDeadlockAtTheEnd(t *testing.T) {
	r := rondo.Runner{SlowStep: time.Hour, OnError: func(rondo.TaskInfo, error) {}}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Shield(ctx, forever) })
		return rondo.Yield(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v", err)
	}
}

// A report is what OnError was told.
type report struct {
	about rondo.TaskInfo
	err   error
}

// debugged runs main with Debug and gives what was reported.
func debugged(t *testing.T, main func(ctx context.Context) error) (reports []report, err error) {
	t.Helper()
	r := rondo.Runner{Debug: true, SlowStep: time.Hour, OnError: func(about rondo.TaskInfo, err error) {
		reports = append(reports, report{about, err})
	}}
	err = r.Run(context.Background(), main)
	return reports, err
}

// TestLateEnd: a loop that a Shield keeps from ending says so, and who it is.
func TestLateEnd(t *testing.T) {
	for _, quick := range []bool{false, true} {
		log := &logged{seen: make(chan bool, 1)}
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
		r := rondo.Runner{SlowStep: 20 * time.Millisecond}
		if quick {
			r.SlowStep = time.Hour
			log.seen <- true
		}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				return rondo.Shield(ctx, func(ctx context.Context) error {
					_, err := rondo.Offload(ctx, func(context.Context) (bool, error) { return <-log.seen, nil })
					return err
				})
			}).SetName("shielded")
			return rondo.Yield(ctx)
		})
		slog.SetDefault(before)
		if err != nil {
			t.Error(err)
		}
		if text := log.String(); quick && text != "" || !quick && (!strings.Contains(text, "cannot end") || !strings.Contains(text, "shielded waits for offload")) {
			t.Errorf("quick: %v, logged %s", quick, text)
		}
	}
}

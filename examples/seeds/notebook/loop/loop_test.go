package loop_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/seeds/notebook/loop"
)

func TestMain(m *testing.M) { program.Main(m, nil) }

// TestNothingLeft has a loop without tasks, and one whose only task waits for
// what nobody will set. That task is unwound.
func TestNothingLeft(t *testing.T) {
	var l loop.Loop
	if err := l.Run(); !errors.Is(err, loop.ErrNothingLeft) {
		t.Errorf("without tasks: %v", err)
	}
	unwound := false
	l.Go(func() error {
		defer func() { unwound = true }()
		_, err := loop.NewFuture[int](&l).Wait()
		return err
	})
	if err := l.Run(); !errors.Is(err, loop.ErrNothingLeft) || !unwound {
		t.Errorf("with one that waits: %v, unwound: %v", err, unwound)
	}
}

// TestPanic has a panic come out of Run, and the other tasks unwound.
func TestPanic(t *testing.T) {
	var l loop.Loop
	unwound := false
	l.Go(func() error {
		defer func() { unwound = true }()
		return l.Sleep(1e18)
	})
	l.Go(func() error { panic("lost") })
	defer func() {
		if v := recover(); v != "lost" || !unwound {
			t.Errorf("panic %v, unwound: %v", v, unwound)
		}
	}()
	t.Error("Run returned", l.Run())
}

// TestCancelInOrder cancels the middle one of three that wait for a future: the
// others have its value, in the order in which they came.
func TestCancelInOrder(t *testing.T) {
	var l loop.Loop
	var got []int
	value := loop.NewFuture[int](&l)
	wait := func(name int) *loop.Task {
		return l.Go(func() error {
			v, err := value.Wait()
			if err == nil {
				got = append(got, name*v)
			}
			return err
		})
	}
	l.Go(func() error {
		defer l.Stop()
		wait(1)
		second, third := wait(2), wait(3)
		if err := l.Yield(); err != nil {
			return err
		}
		second.Cancel()
		second.Cancel() // it does not wait any more
		value.Set(10)
		if err := third.Wait(); err != nil {
			return err
		}
		if err := second.Wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("the second has %v", err)
		}
		return nil
	})
	if err := l.Run(); err != nil || !slices.Equal(got, []int{10, 30}) {
		t.Errorf("%v, and those that got a value: %v", err, got)
	}
}

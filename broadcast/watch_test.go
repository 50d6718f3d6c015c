package broadcast_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/sim"
)

// TestWatch: a reader has the present value first, then each latest one, and the last
// after Close.
func TestWatch(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		w := broadcast.NewWatch(1)
		rondo.Go(ctx, func(ctx context.Context) error {
			for v := 2; v <= 5; v++ {
				_ = rondo.Sleep(ctx, time.Second)
				w.Set(v)
			}
			w.Close()
			w.Set(6)
			return nil
		})
		var fast, slow []int
		reader := w.Reader()
		task := rondo.Go(ctx, func(ctx context.Context) error {
			for v := range w.Reader().All(ctx) {
				slow = append(slow, v)
				_ = rondo.Sleep(ctx, 2500*time.Millisecond)
			}
			return nil
		})
		for v := range reader.All(ctx) {
			fast = append(fast, v)
		}
		if _, err := reader.Next(ctx); err != broadcast.ErrClosed {
			t.Errorf("Next after the end returned %v", err)
		}
		if err := task.Wait(ctx); err != nil {
			t.Error(err)
		}
		if !slices.Equal(fast, []int{1, 2, 3, 4, 5}) || !slices.Equal(slow, []int{1, 3, 5}) || w.Value() != 5 {
			t.Errorf("the readers saw %v and %v, the value is %d", fast, slow, w.Value())
		}
	})
}

// TestWatchEmpty: the first value of a zero Watch is the one that was set.
func TestWatchEmpty(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		var w broadcast.Watch[string]
		w.Name = "config"
		task := rondo.Async(ctx, w.Reader().Next)
		_ = rondo.Sleep(ctx, 1)
		if i := task.Task().Info(); i.Waiting != "watch" || i.Of != "config" {
			t.Errorf("it waits for %q of %q", i.Waiting, i.Of)
		}
		w.Set("a")
		if v, err := task.Wait(ctx); v != "a" || err != nil {
			t.Errorf("Next returned %q, %v", v, err)
		}
	})
}

// TestWatchInEveryOrder: a reader, and one in a Select, have the last value in the end,
// whatever comes first; a reader that is cancelled has it or may still have it.
func TestWatchInEveryOrder(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		w := broadcast.NewWatch(0)
		r, selecting := w.Reader(), w.Reader()
		_, _ = r.Next(ctx)
		var v int
		task := rondo.Go(ctx, func(ctx context.Context) error { _, err := r.Next(ctx); return err })
		chosen := rondo.Go(ctx, func(ctx context.Context) error {
			for v != 2 {
				if i, err := rondo.Select(ctx, new(rondo.Event).WaitCase(), selecting.NextCase(&v)); i != 1 || err != nil {
					t.Errorf("Select returned %d, %v", i, err)
					return err
				}
			}
			return nil
		})
		rondo.Go(ctx, func(context.Context) error { w.Set(1); w.Set(2); return nil })
		rondo.Go(ctx, func(context.Context) error { task.Cancel(errStop); return nil })
		err := task.Wait(ctx)
		_ = chosen.Wait(ctx)
		if err == errStop {
			if v, err := r.Next(ctx); v != 2 || err != nil {
				t.Errorf("after a cancelled Next it returned %d, %v", v, err)
			}
		} else if err != nil {
			t.Errorf("Next returned %v", err)
		}
	})
}

func TestWatchMistakes(t *testing.T) {
	w := broadcast.NewWatch(1)
	panics(t, "NextCase with a nil pointer", func() { w.Reader().NextCase(nil) })
	panics(t, "rondo: broadcast.Reader.All: this ctx belongs to no running loop", func() {
		for range w.Reader().All(context.Background()) {
			t.Error("a value")
		}
	})
	if _, err := w.Reader().Next(context.Background()); err == nil {
		t.Error("Next with a ctx of no loop has no error")
	}
	sim.Test(t, func(ctx context.Context) {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errStop)
			if _, err := w.Reader().Next(g); err != errStop {
				t.Errorf("Next in a cancelled scope returned %v", err)
			}
			return nil
		})
	})
}

package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// inOrder fails if a list of numbers is not 0, 1, 2 and so on, up to n-1.
func inOrder(t *testing.T, what string, got []int, n int) {
	t.Helper()
	if len(got) != n || !slices.IsSorted(got) {
		t.Errorf("%s: they ran in the order %v", what, got)
	}
}

// many are seeds of all strategies, with tasks and timers that are late.
var many = sim.Config{Seeds: 60, SeedsShort: 60}

// TestPostsInOrder: what tasks and callbacks Post, and what they give to CallSoon, runs in
// the order of the calls with each seed, as on a real loop, and in all orders that there are.
func TestPostsInOrder(t *testing.T) {
	body := func(ctx context.Context) {
		var posts, soon []int
		n, loop := 0, rondo.LoopOf(ctx)
		post := func() {
			i := n
			n++
			_ = loop.Post(func() { posts = append(posts, i) })
			loop.CallSoon(func() { soon = append(soon, i) })
		}
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { post(); err := rondo.Yield(ctx); post(); return err })
			g.Go(func(ctx context.Context) error { loop.CallSoon(post); post(); return nil })
			return nil
		})
		_ = rondo.Sleep(ctx, time.Hour)
		inOrder(t, "Post", posts, 4)
		inOrder(t, "CallSoon", soon, 4)
	}
	many.Test(t, body)
	sim.Config{Deviations: 2}.Explore(t, body)
}

// TestCallSoonBeforePost: one caller's CallSoon goes before its later Post, and a callback
// that was cancelled keeps no other one from its place.
func TestCallSoonBeforePost(t *testing.T) {
	many.Test(t, func(ctx context.Context) {
		var got []int
		loop := rondo.LoopOf(ctx)
		note := func(i int) func() { return func() { got = append(got, i) } }
		for i := range 3 {
			loop.CallSoon(note(-1)).Cancel()
			loop.CallSoon(note(i))
			_ = loop.Post(note(i + 3))
		}
		_ = rondo.Sleep(ctx, 1)
		inOrder(t, "CallSoon and Post", got, 6)
	})
}

// TestPostsOfBusyLoop: what a task posts may run before tasks that were ready for longer go on,
// as on a real loop, which takes it at its next turn.
func TestPostsOfBusyLoop(t *testing.T) {
	early := 0
	many.Test(t, func(ctx context.Context) {
		ran := false
		_ = rondo.LoopOf(ctx).Post(func() { ran = true })
		for range 3 {
			_ = rondo.Yield(ctx)
		}
		if ran {
			early++
		}
	})
	if early == 0 {
		t.Error("no seed runs it while the loop is busy")
	}
	sim.Test(t, func(ctx context.Context) {
		ran := false
		for _ = rondo.LoopOf(ctx).Post(func() { ran = true }); !ran; {
			_ = rondo.Yield(ctx)
		}
	})
}

// TestPostsItself: a callback may post itself until a task has run, also if the task is late.
func TestPostsItself(t *testing.T) {
	many.Test(t, func(ctx context.Context) {
		done := false
		task := rondo.Go(ctx, func(ctx context.Context) error { done = true; return nil })
		var again func()
		again = func() {
			if !done {
				_ = rondo.LoopOf(ctx).Post(again)
			}
		}
		again()
		if err := task.Wait(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestSubmitInOrder: what is submitted has begun when what the same caller posts later runs.
func TestSubmitInOrder(t *testing.T) {
	many.Test(t, func(ctx context.Context) {
		loop := rondo.LoopOf(ctx)
		f := rondo.Submit(loop, func(ctx context.Context) (int, error) { return 1, rondo.Yield(ctx) })
		_ = loop.Post(func() {
			if f.Task() == nil {
				t.Error("Post has passed Submit")
			}
		})
		if v, err := f.Wait(ctx); v != 1 || err != nil {
			t.Error(v, err)
		}
	})
}

// TestPostsOfGoroutine: what a function that is offloaded posts runs before the function has
// returned, in its order, also if it leaves that to other goroutines and waits for them.
func TestPostsOfGoroutine(t *testing.T) {
	body := func(ctx context.Context) {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error {
					var got []int
					loop := rondo.LoopOf(ctx)
					err := rondo.OffloadFunc(ctx, func(context.Context) error {
						errs := make(chan error)
						for i := range 3 {
							go func() { errs <- loop.Post(func() { got = append(got, i) }) }()
							if err := <-errs; err != nil {
								return err
							}
						}
						return nil
					})
					inOrder(t, "a goroutine's Posts", got, 3)
					return err
				})
			}
			return nil
		})
	}
	many.Test(t, body)
	c := many
	c.Goroutines = true
	c.Test(t, body)
}

// TestPostsOfHosts: what each host posts to another one comes in its order, whatever the
// others post meanwhile, and in more than one order of all.
func TestPostsOfHosts(t *testing.T) {
	orders := map[string]bool{}
	many.Cluster(t, func(ctx context.Context, w *sim.World) {
		var got []string
		home := rondo.LoopOf(ctx)
		done := rondo.NewFuture[int](ctx)
		for _, name := range []string{"a", "b"} {
			w.Host(name, func(ctx context.Context) error {
				for i := range 3 {
					if err := home.Post(func() { got = append(got, fmt.Sprint(name, i)) }); err != nil {
						return err
					}
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return home.Post(func() {
					if len(got) == 6 {
						done.Set(0)
					}
				})
			})
		}
		for range 20 { // the loop is busy
			_ = rondo.Yield(ctx)
		}
		if _, err := done.Wait(ctx); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"a", "b"} {
			if !slices.IsSorted(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s[:1] != name })) {
				t.Errorf("they came in the order %v", got)
			}
		}
		orders[fmt.Sprint(got)] = true
	})
	if len(orders) < 5 {
		t.Errorf("%d seeds try only %d of 20 orders", many.Seeds, len(orders))
	}
}

// TestPostsThroughOthers: what a host posts before it tells another host of it comes before
// what the other one posts then.
func TestPostsThroughOthers(t *testing.T) {
	many.Cluster(t, func(ctx context.Context, w *sim.World) {
		var got []int
		home := rondo.LoopOf(ctx)
		var second *rondo.Loop
		w.Host("b", func(ctx context.Context) error {
			second = rondo.LoopOf(ctx)
			return rondo.WaitCanceled(ctx)
		})
		_ = rondo.Sleep(ctx, time.Second)
		w.Host("a", func(ctx context.Context) error {
			return errors.Join(home.Post(func() { got = append(got, 0) }),
				second.Post(func() { _ = home.Post(func() { got = append(got, 1) }) }))
		})
		for range 20 {
			_ = rondo.Yield(ctx)
		}
		_ = rondo.Sleep(ctx, time.Minute)
		inOrder(t, "what hosts post because of each other", got, 2)
	})
}

// TestWaitAcrossIsCancelled: a wait for a task of another host that is cancelled at once takes
// back what it has handed in there, and not before it was handed in.
func TestWaitAcrossIsCancelled(t *testing.T) {
	many.Cluster(t, func(ctx context.Context, w *sim.World) {
		var there *rondo.Task
		w.Host("a", func(ctx context.Context) error {
			there = rondo.Current(ctx)
			return rondo.WaitCanceled(ctx)
		})
		_ = rondo.Sleep(ctx, time.Second)
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return there.Wait(ctx) })
			g.Go(func(ctx context.Context) error { g.Cancel(nil); return nil })
			return nil
		})
		_ = rondo.Sleep(ctx, time.Second)
	})
}

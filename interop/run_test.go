package interop_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// run runs body, and everything that it starts, on a loop.
func run(t *testing.T, body func(ctx context.Context) error) {
	t.Helper()
	if err := rondo.Run(t.Context(), body); err != nil {
		t.Fatal(err)
	}
}

// An overlap counts tasks that are inside a call of a library at the same time.
// There can be more than one only if the library suspends them, because no other
// task runs while a call blocks the loop. Tasks of one loop share it without a
// lock.
type overlap struct{ inside, most int }

// enter is called before the call, and the function that it returns after it.
func (o *overlap) enter() (leave func()) {
	o.inside++
	o.most = max(o.most, o.inside)
	return func() { o.inside-- }
}

// company waits until another task is inside too.
func (o *overlap) company(t *testing.T, ctx context.Context) {
	for o.most < 2 {
		if err := rondo.Yield(ctx); err != nil {
			t.Error(err)
			return
		}
	}
}

// want fails the test if there were never n tasks inside at once.
func (o *overlap) want(t *testing.T, n int) {
	t.Helper()
	if o.most < n {
		t.Errorf("at most %d tasks were in the library at once, not %d: it blocks the loop", o.most, n)
	}
}

// beats runs body while another task yields in every turn of the loop, and returns
// how often that task ran.
func beats(ctx context.Context, body func(ctx context.Context) error) (n int, err error) {
	turns := 0
	end := rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			for rondo.Yield(ctx) == nil {
				turns++
			}
			return nil
		})
		// The other task runs before this Yield returns.
		if err := rondo.Yield(g); err != nil {
			return err
		}
		before := turns
		err = body(g)
		n = turns - before
		g.Cancel(nil)
		return nil
	})
	if err == nil {
		err = end
	}
	return n, err
}

// all runs fn in n tasks at once, numbered from 0.
func all(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range n {
			g.Go(func(ctx context.Context) error { return fn(ctx, i) })
		}
		return nil
	})
}

// gone waits until no goroutine is in the function of that name. It is for a
// library's own goroutine that has been told to end.
func gone(t *testing.T, function string) {
	t.Helper()
	late := time.After(time.Minute)
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if !strings.Contains(string(stacks[:n]), function) {
			return
		}
		select {
		case <-late:
			t.Fatalf("%s does not end:\n%s", function, stacks[:n])
		case <-time.After(time.Millisecond):
		}
	}
}

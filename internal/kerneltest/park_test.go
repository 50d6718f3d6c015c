package kerneltest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestParkWithAnyContext: with whichever ctx tasks wait, and in whichever order some are woken,
// Wake ends the wait of its task, and the cancellation of a scope those that still wait.
func TestParkWithAnyContext(t *testing.T) {
	for way, contextFor := range map[string]func(g, own context.Context) context.Context{
		"its own":          func(_, own context.Context) context.Context { return own },
		"the Group's":      func(g, _ context.Context) context.Context { return g },
		"from its own":     func(_, own context.Context) context.Context { return context.WithValue(own, ctxKey("a"), 1) },
		"from the Group's": func(g, _ context.Context) context.Context { return context.WithValue(g, ctxKey("a"), 1) },
	} {
		for _, order := range [][]int{{0, 1}, {3, 2}, {1, 3}, {2, 0}, {0, 3}} {
			exact.Test(t, func(ctx context.Context) {
				var lists [4]rondo.WaitList
				ended := make(map[int]error)
				_ = rondo.Group(ctx, func(g *rondo.Scope) error {
					for i := range lists {
						g.Go(func(own context.Context) error {
							ended[i] = lists[i].Park(contextFor(g, own), rondo.Reason{What: "test"})
							return nil
						})
						_ = rondo.Sleep(ctx, 1)
					}
					for n, i := range order {
						if lists[i].Len() != 1 || !lists[i].Wake() || lists[i].Wake() {
							t.Errorf("%s: task %d was not in its list once", way, i)
						}
						if _ = rondo.Sleep(ctx, 1); len(ended) != n+1 {
							t.Errorf("%s: %d waits have ended, want %d", way, len(ended), n+1)
						}
					}
					g.Cancel(errStop)
					return rondo.Sleep(ctx, time.Second)
				})
				for i := range lists {
					want := errStop
					if slices.Contains(order, i) {
						want = nil
					}
					if err, over := ended[i]; err != want || !over || lists[i].Len() != 0 {
						t.Errorf("%s, woken %v: wait %d has ended: %v, with %v", way, order, i, over, err)
					}
				}
			})
		}
	}
}

package sim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestSometimes: what is never true in any run fails the test, if all runs were made.
func TestSometimes(t *testing.T) {
	body := func(ctx context.Context) {
		n := sim.Choose(ctx, 5)
		sim.Sometimes(ctx, n == 4, "four")
		sim.Sometimes(ctx, n == 5, "five")
		sim.Sometimes(ctx, n == 6, "six")
	}
	tried, returned := try(func(t *tester) { sim.Config{Seeds: 40, SeedsShort: 40}.Test(t, body) })
	if !tried.Failed() || !returned || len(tried.Lines()) != 1 {
		t.Fatal(tried.Text())
	}
	contains(t, tried.Lines()[0], `in none of 40 seeds was this ever true, which must sometimes be: "five", "six"`)
	tried, _ = try(func(t *tester) { sim.Explore(t, body) })
	contains(t, tried.Text(), `in none of 5 orders was this ever true, which must sometimes be: "five", "six"`)
	t.Setenv("RONDO_SEED", "1-40")
	if tried, _ := try(func(t *tester) { sim.Test(t, body) }); tried.Failed() {
		t.Error(tried.Text())
	}
	sim.Sometimes(t.Context(), false, "outside")
	sim.Always(t.Context(), false, "outside")
}

func TestAlways(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) {
		sim.Always(ctx, true, "fine")
		_ = rondo.Sleep(ctx, time.Second)
		sim.Always(ctx, false, "the sky is up")
	}, `"the sky is up", which must always be true, is false`, "probe_test.go", "after 1s of virtual time")
	both(t, func(t *tester, ctx context.Context) {
		defer func() { _ = recover() }()
		sim.Always(ctx, false, "the sky is up")
	}, `"the sky is up", which must always be true, is false`)
}

// TestProbesOfTheDead: after a program was killed its waits fail, and nothing that it says then
// counts.
func TestProbesOfTheDead(t *testing.T) {
	for how, end := range map[string]func(h *sim.Host){
		"a crash":        (*sim.Host).Crash,
		"a power loss":   (*sim.Host).PowerFail,
		"the test's end": func(*sim.Host) {},
	} {
		tried, _ := try(func(t *tester) {
			one().Cluster(t, func(ctx context.Context, w *sim.World) {
				h := w.Host("a", func(ctx context.Context) error {
					sim.Sometimes(ctx, false, "it is cancelled")
					err := rondo.Sleep(ctx, time.Hour)
					sim.Sometimes(ctx, err != nil, "it is cancelled")
					sim.Always(ctx, err == nil, "it sleeps for an hour")
					return nil
				})
				_ = rondo.Sleep(ctx, time.Second)
				end(h)
				_ = rondo.Sleep(ctx, time.Second)
			})
		})
		contains(t, how+": "+tried.Text(), `: sim: in none of 1 seeds was this ever true, which must sometimes be: "it is cancelled"`)
	}
}

// TestChoose: a seed chooses each number, and again the same; Explore tries all.
func TestChoose(t *testing.T) {
	counts := make([]int, 4)
	sim.Config{Seeds: 400, SeedsShort: 400}.Test(t, func(ctx context.Context) {
		counts[sim.Choose(ctx, 4)]++
		if sim.Choose(ctx, 1) != 0 {
			t.Error("there is one thing to choose")
		}
	})
	if slices.Min(counts) < 60 {
		t.Error(counts)
	}
	var all []string
	sim.Explore(t, func(ctx context.Context) {
		all = append(all, fmt.Sprint(sim.Choose(ctx, 3), sim.Choose(ctx, 2)))
	})
	slices.Sort(all)
	if got := fmt.Sprint(all); got != "[0 0 0 1 1 0 1 1 2 0 2 1]" {
		t.Error(got)
	}
	for _, f := range []func(){
		func() { sim.Choose(t.Context(), 2) },
		func() { sim.Rand(t.Context()) },
		func() { new(sim.History[int, int]).Begin(t.Context(), 1) },
	} {
		func() {
			defer func() {
				contains(t, fmt.Sprint(recover()), "with a ctx that does not come from a simulation: use the ctx of the body")
			}()
			f()
		}()
	}
	both(t, func(_ *tester, ctx context.Context) { sim.Choose(ctx, 0) }, "sim: Choose among 0 things: use a positive number")
}

// TestHistory: all numbers differ also where time stands still, so an operation that
// has ended before another began is not concurrent with it.
func TestHistory(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var h sim.History[string, int]
		var last int64
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error {
					for i := range 4 {
						op := h.Begin(ctx, "inc")
						if op.Called <= last {
							t.Error("called at", op.Called, "after", last)
						}
						_ = rondo.Yield(ctx)
						op.End(i)
						last = op.Returned
					}
					h.Begin(ctx, "unknown").Unknown()
					h.Begin(ctx, "discarded").Discard()
					h.Begin(ctx, "pending")
					return nil
				})
			}
			return nil
		})
		seen, pending := map[int64]bool{}, 0
		for op := range h.All() {
			if op.In == "discarded" || seen[op.Called] || op.Client == 0 {
				t.Error(op)
			}
			if seen[op.Called] = true; op.Returned == sim.Pending {
				pending++
			} else if seen[op.Returned] || op.Returned <= op.Called {
				t.Error(op)
			}
			seen[op.Returned] = true
		}
		if h.Len() != 18 || pending != 6 {
			t.Error(h.Len(), pending)
		}
		op := h.Begin(ctx, "x")
		op.Unknown()
		defer func() { contains(t, fmt.Sprint(recover()), "sim: Op.End of an operation that has ended") }()
		op.End(1)
	})
}

// TestHistoryOfBoots: no two clients have one number, also where a host has begun anew.
func TestHistoryOfBoots(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		var h sim.History[string, int]
		clients := map[uint64]bool{}
		for _, name := range []string{"a", "b"} {
			host := w.Host(name, func(ctx context.Context) error {
				clients[h.Begin(ctx, name).Client] = true
				return nil
			})
			_ = w.Eventually(ctx, time.Minute, func() bool { return !host.Up() })
			host.Restart()
			_ = w.Eventually(ctx, time.Minute, func() bool { return !host.Up() })
		}
		if len(clients) != 4 {
			t.Errorf("%d clients have the numbers %v", 4, clients)
		}
	})
}

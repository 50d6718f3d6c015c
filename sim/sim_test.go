package sim_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// shuffle runs n tasks that are all ready at once and returns the order in which
// they ran.
func shuffle(ctx context.Context, n int) string {
	var order []byte
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range n {
			g.Go(func(ctx context.Context) error {
				order = append(order, byte('a'+i))
				return nil
			})
		}
		return nil
	})
	return string(order)
}

// repeated is how many seeds run twice.
const repeated = 20

// orders returns what shuffle returned for each seed.
func orders(t *testing.T, seeds string) []string {
	t.Helper()
	t.Setenv("RONDO_SEED", seeds)
	var runs, all []string
	sim.Test(t, func(ctx context.Context) { runs = append(runs, shuffle(ctx, 10)) })
	for len(runs) > 0 {
		all = append(all, runs[0])
		if len(all) <= repeated {
			if runs[0] != runs[1] {
				t.Fatal("a seed has two orders:", runs[:2])
			}
			runs = runs[1:]
		}
		runs = runs[1:]
	}
	return all
}

func TestSeedZeroIsTheRealOrder(t *testing.T) {
	if all := orders(t, "0"); all[0] != "abcdefghij" {
		t.Fatal(all)
	}
}

// TestSeedsReachEveryOrder holds that choosing is even enough: 24 orders of four
// tasks, a thousand seeds.
func TestSeedsReachEveryOrder(t *testing.T) {
	t.Setenv("RONDO_SEED", "1-1000")
	seen := map[string]int{}
	sim.Test(t, func(ctx context.Context) { seen[shuffle(ctx, 4)]++ })
	if len(seen) != 24 {
		t.Fatal(len(seen), "orders:", seen)
	}
}

func TestClockStart(t *testing.T) {
	begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	var starts []time.Time
	sim.Test(t, func(ctx context.Context) {
		now := rondo.Now(ctx)
		if now.Before(begin) || !now.Before(begin.Add(24*time.Hour)) || now.Location() != time.UTC {
			t.Error("the clock starts at", now)
		}
		starts = append(starts, now)
	})
	if starts[0] != starts[1] || starts[1] == starts[2] {
		t.Error("twice the first seed and the second start at", starts[:3])
	}
}

func TestClockTimes(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		at := rondo.Now(ctx).Add(90 * time.Minute)
		if err := rondo.SleepUntil(ctx, at); err != nil || rondo.Now(ctx) != at {
			t.Error(err, rondo.Now(ctx), at)
		}
		if err := rondo.SleepUntil(ctx, at.Add(-1000*time.Hour)); err != nil || rondo.Now(ctx) != at {
			t.Error(err, rondo.Now(ctx), at)
		}
		// No instant is that far away: the sleep has no end of its own.
		err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			return rondo.SleepUntil(ctx, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
		})
		if !errors.Is(err, context.DeadlineExceeded) || rondo.Now(ctx) != at.Add(time.Hour) {
			t.Error(err, rondo.Now(ctx), at)
		}
	})
}

// TestTimersOfOneInstant holds that timers that are due at the same time end in
// any order, and others in theirs.
func TestTimersOfOneInstant(t *testing.T) {
	seen := map[string]bool{}
	sim.Explore(t, func(ctx context.Context) {
		var order []byte
		at := rondo.Now(ctx).Add(time.Second)
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i, at := range []time.Time{at, at, at, at.Add(1)} {
				g.Go(func(ctx context.Context) error {
					_ = rondo.SleepUntil(ctx, at)
					order = append(order, byte('a'+i))
					return nil
				})
			}
			return nil
		})
		seen[string(order)] = true
	})
	if len(seen) != 6 || !seen["cbad"] {
		t.Error(seen)
	}
}

func TestRand(t *testing.T) {
	t.Setenv("RONDO_SEED", "1-3")
	var all []uint64
	sim.Test(t, func(ctx context.Context) { all = append(all, sim.Rand(ctx).Uint64()) })
	if all[0] != all[1] || all[1] == all[2] || all[3] == all[4] {
		t.Error(all)
	}
	defer func() {
		if s := fmt.Sprint(recover()); !strings.HasPrefix(s, "sim: Rand") {
			t.Error(s)
		}
	}()
	sim.Rand(context.Background())
}

// TestRandLeavesTheOrder holds that numbers drawn by the body do not change the
// choices.
func TestRandLeavesTheOrder(t *testing.T) {
	t.Setenv("RONDO_SEED", "5")
	var all []string
	for draws := range 3 {
		sim.Test(t, func(ctx context.Context) {
			for range draws {
				sim.Rand(ctx).Int()
			}
			all = append(all, shuffle(ctx, 10))
		})
	}
	if len(slices.Compact(all)) != 1 {
		t.Error(all)
	}
}

// lost counts two tasks, and counts wrong if the second one comes first, which
// it never does on a real loop.
func lost(ctx context.Context) int {
	n := 0
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			n++
			return nil
		})
		g.Go(func(ctx context.Context) error {
			v := n
			err := rondo.Yield(ctx)
			n = v + 1
			return err
		})
		return nil
	})
	return n
}

// hidden is lost among 18 tasks that only make noise.
func hidden(ctx context.Context) int {
	n := 0
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		for range 18 {
			g.Go(func(ctx context.Context) error {
				for range 8 {
					_ = rondo.Yield(ctx)
				}
				return nil
			})
		}
		g.Go(func(ctx context.Context) error {
			for range 4 {
				_ = rondo.Yield(ctx)
			}
			v := n
			err := rondo.Yield(ctx)
			n = v + 1
			return err
		}).SetName("worker-1")
		g.Go(func(ctx context.Context) error {
			for range 5 {
				_ = rondo.Yield(ctx)
			}
			n++
			return nil
		}).SetName("worker-2")
		return nil
	})
	return n
}

func TestRaceIsFound(t *testing.T) {
	body := func(t *tester) func(ctx context.Context) {
		return func(ctx context.Context) {
			if n := lost(ctx); n != 2 {
				t.Error("the count is", n)
			}
		}
	}
	t.Setenv("RONDO_SEED", "0")
	if tried, _ := try(func(t *tester) { sim.Test(t, body(t)) }); tried.Failed() {
		t.Fatal("found in the order of a real loop:", tried.Text())
	}
	t.Setenv("RONDO_SEED", "")
	text := failing(t, func(t *tester) { sim.Test(t, body(t)) })
	contains(t, text, "the count is 1", "the test failed", "after 0s of virtual time")
	replays(t, text, body)

	text = failing(t, func(t *tester) { sim.Explore(t, body(t)) })
	contains(t, text, "the count is 1", "the test failed")
	replays(t, text, body)
}

// replays runs body as the report in text says and wants the same report.
func replays(t *testing.T, text string, body func(t *tester) func(ctx context.Context)) {
	t.Helper()
	match := regexp.MustCompile(`RONDO_SEED=(\S+) go test .* -run '\^TestTried\$' -count=1`).FindStringSubmatch(text)
	if match == nil {
		t.Fatal("no command in", text)
	}
	t.Setenv("RONDO_SEED", match[1])
	again := failing(t, func(t *tester) {
		if strings.HasPrefix(match[1], "x:") {
			sim.Explore(t, body(t))
		} else {
			sim.Test(t, body(t))
		}
	})
	t.Setenv("RONDO_SEED", "")
	label := regexp.MustCompile(`order [0-9]+:`)
	if want := label.ReplaceAllString(text, "order "+match[1]+":"); again != want {
		t.Fatalf("first:\n%s\nthen:\n%s", text, again)
	}
}

// TestStepsAreLate: in some seeds a task that is ready runs only when time has passed, although
// nothing else runs, and in some another task takes many steps meanwhile. So it is on a host, too.
func TestStepsAreLate(t *testing.T) {
	late, most := 0, 0
	body := func(ctx context.Context) {
		start := rondo.Now(ctx)
		for range 20 {
			_ = rondo.Yield(ctx)
		}
		if rondo.Now(ctx).After(start) {
			late++
		}
		meanwhile, over := 0, false
		other := rondo.Go(ctx, func(ctx context.Context) error {
			for !over {
				meanwhile++
				_ = rondo.Yield(ctx)
			}
			return nil
		})
		for range 20 {
			meanwhile = 0
			_ = rondo.Yield(ctx)
			most = max(most, meanwhile)
		}
		over = true
		_ = other.Wait(ctx)
	}
	for what, run := range map[string]func(){
		"loop": func() { many.Test(t, body) },
		"host": func() { many.Cluster(t, func(ctx context.Context, _ *sim.World) { body(ctx) }) },
	} {
		late, most = 0, 0
		run()
		if late == 0 || most < 5 {
			t.Errorf("on a %s time passes in %d seeds; in all another task takes at most %d steps", what, late, most)
		}
	}
}

// TestSameTaskLate has a mistake that shows only if one task comes before
// another in twenty turns on end: once in a million even choices.
func TestSameTaskLate(t *testing.T) {
	t.Setenv("RONDO_SEED", "1-20") // also with -short: five seeds do not find it
	failing(t, func(t *tester) {
		sim.Test(t, func(ctx context.Context) {
			const turns = 20
			ahead, a, b := 0, 0, 0
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					for range turns {
						a++
						_ = rondo.Yield(ctx)
					}
					return nil
				})
				g.Go(func(ctx context.Context) error {
					for range turns {
						if b++; b > a {
							ahead++
						}
						_ = rondo.Yield(ctx)
					}
					return nil
				})
				return nil
			})
			if ahead == turns {
				t.Error("so it is")
			}
		})
	})
}

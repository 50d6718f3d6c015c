package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestVariable puts all forms of RONDO_SEED to Test and Explore.
func TestVariable(t *testing.T) {
	const all = -1
	for _, c := range []struct {
		value           string
		tested, explore int // runs of a body that has two orders
	}{
		{"", all, 2},
		{"7", 2, 2},
		{"0", 2, 2},
		{"18446744073709551615", 2, 2},
		{"3-3", 2, 2},
		{"1-10", 20, 2},
		{"1-30", 50, 2},
		{"18446744073709551614-18446744073709551615", 4, 2},
		{"x:", all, 1},
		{"x:0", all, 1},
		{"x:1", all, 1},
	} {
		t.Run(c.value, func(t *testing.T) {
			t.Setenv("RONDO_SEED", c.value)
			want := c.tested
			if want == all {
				want = 2 * 20
				if testing.Short() {
					want = 2 * 5
				}
			}
			runs := 0
			sim.Test(t, func(ctx context.Context) { runs++ })
			if runs != want {
				t.Error("Test ran", runs, "times")
			}
			var orders []string
			sim.Explore(t, func(ctx context.Context) { orders = append(orders, shuffle(ctx, 2)) })
			if len(orders) != c.explore {
				t.Error("Explore ran", orders)
			}
			if c.value == "x:1" && orders[0] != "ba" || c.value == "x:" && orders[0] != "ab" {
				t.Error("Explore ran", orders)
			}
		})
	}
}

func TestVariableErrors(t *testing.T) {
	for _, value := range []string{
		"seven", "-", "-7", "7-", "9-3", "1-2-3", "1.5", " 1", "18446744073709551616",
		"x", "x:a", "x:1,", "x:,1", "x:-1", "x:1 2", "x:4294967296",
		"7+zz", "x+00", "7:", "7:o1.2", "7:q1.2=3", "x:o1.2=3",
	} {
		t.Setenv("RONDO_SEED", value)
		for _, run := range []func(testing.TB, func(ctx context.Context)){sim.Test, sim.Explore} {
			text := failing(t, func(t *tester) {
				run(t, func(ctx context.Context) { panic("it runs with RONDO_SEED=" + value) })
			})
			want := fmt.Sprintf("sim: RONDO_SEED=%q: want a seed as 7, a range of seeds as 1-2000, a seed with changes as 7+00a1, "+
				"a seed with its choices as 7:o1.2=3, or an order as x:0,1\n", value)
			if text != want {
				t.Error(text)
			}
		}
	}
}

func TestOrderOfAnotherTest(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"x:2", "sim: RONDO_SEED=x:2 is no order of this test: choice 1 is among 2 things\n"},
		{"x:0,1", "sim: RONDO_SEED=x:0,1 is no order of this test: it ends with choice 1\n"},
	} {
		t.Setenv("RONDO_SEED", c.value)
		text := failing(t, func(t *tester) {
			sim.Explore(t, func(ctx context.Context) { shuffle(ctx, 2) })
		})
		if text != c.want {
			t.Error(text)
		}
	}
}

// A subtest is a test with a name of its own.
type subtest struct {
	*tester
	name string
}

func (t subtest) Name() string { return t.name }

func TestCommandNamesSubtests(t *testing.T) {
	text := failing(t, func(t *tester) {
		sim.Test(subtest{t, "TestQueue/it's_full+x/#01"}, func(ctx context.Context) { _ = rondo.Yield(ctx); t.FailNow() })
	})
	want := `github.com/rondo-go/rondo/sim -run '^TestQueue$/^it'\''s_full\+x$/^#01$' -count=1`
	if !strings.Contains(text, want) {
		t.Error(text)
	}
}

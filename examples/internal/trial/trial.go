// Package trial plants mistakes in a program, and looks how soon its simulated test finds
// them.
package trial

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/rondo-go/rondo/internal/tried"
	"github.com/rondo-go/rondo/sim"
)

// A Mistake is a switch that breaks the program.
type Mistake struct {
	Name string
	On   *bool
}

// A Body is a test of a cluster.
type Body func(t testing.TB) func(ctx context.Context, w *sim.World)

// Find plants one mistake after the other, each in a subtest, and fails the test if one is not
// found in the first 200 seeds. If the environment variable RONDO_TRIALS is a number, each mistake
// has that many trials more, with 1,000 seeds each that no other trial has, and at most one in
// twenty may find nothing.
func Find(t *testing.T, c sim.Config, body Body, mistakes ...Mistake) {
	t.Helper()
	t.Setenv("RONDO_SIM_STORE", t.TempDir())
	trials, _ := strconv.Atoi(os.Getenv("RONDO_TRIALS"))
	for _, m := range mistakes {
		t.Run(m.Name, func(t *testing.T) {
			seed := find(t, c, body, m, 1, 200)
			if seed == 0 {
				t.Fatal("not found in 200 seeds")
			}
			t.Logf("seed %d", seed)
			var all []int // how many seeds each trial needed
			for i := range trials {
				first := 1000*i + 1001
				seed := find(t, c, body, m, first, first+999)
				if seed == 0 {
					seed = first + 1000
				}
				all = append(all, seed-first+1)
			}
			if len(all) == 0 {
				return
			}
			slices.Sort(all)
			t.Logf("seeds needed in %d trials: %v", trials, all)
			if p95 := all[(95*len(all)+99)/100-1]; p95 > 1000 {
				t.Error("more than one trial in twenty found nothing in 1,000 seeds")
			}
		})
	}
}

// find returns the first of the seeds that finds a mistake, or 0.
func find(t *testing.T, c sim.Config, body Body, m Mistake, first, last int) int {
	t.Helper()
	*m.On = true
	defer func() { *m.On = false }()
	t.Setenv("RONDO_SEED", fmt.Sprintf("%d-%d", first, last))
	t.Setenv("RONDO_SHRINK", "off")
	one, _ := tried.Run(func(t *tried.T) { c.Cluster(t, body(t)) })
	if !one.Failed() {
		return 0
	}
	number := regexp.MustCompile(`sim: seed (\d+)`).FindStringSubmatch(one.Text())
	if number == nil {
		t.Fatalf("%s: %s", m.Name, one.Text())
	}
	seed, _ := strconv.Atoi(number[1])
	return seed
}

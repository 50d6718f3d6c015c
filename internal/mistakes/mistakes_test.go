package mistakes

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/tried"
	"github.com/rondo-go/rondo/sim"
)

// A mistake is a program with a mistake, and the same without it. It has a loop or a
// cluster.
type mistake struct {
	name    string
	budget  int // within how many seeds it must be found
	config  sim.Config
	cluster func(ctx context.Context, w *sim.World, fixed bool)
	loop    func(ctx context.Context, fixed bool)
	heavy   bool // it runs with RONDO_BUGS only, and is not shrunk
}

// run runs the program with the seeds of the Config.
func (m *mistake) run(t testing.TB, fixed bool) {
	c := m.config
	c.Seeds, c.SeedsShort = m.budget, m.budget
	if m.loop != nil {
		c.Test(t, func(ctx context.Context) { m.loop(ctx, fixed) })
		return
	}
	c.Cluster(t, func(ctx context.Context, w *sim.World) { m.cluster(ctx, w, fixed) })
}

// seeds runs the program with n seeds from the given one on. It returns which of them
// failed, counted from 1, or n+1, and the report.
func (m *mistake) seeds(t *testing.T, first, n int, fixed bool) (failed int, report string) {
	t.Setenv("RONDO_SEED", fmt.Sprintf("%d-%d", first, first+n-1))
	one, _ := tried.Run(func(t *tried.T) { m.run(t, fixed) })
	if !one.Failed() {
		return n + 1, ""
	}
	report = one.Text()
	found := regexp.MustCompile(`sim: seed (\d+): `).FindStringSubmatch(report)
	if found == nil {
		t.Fatal(report)
	}
	seed, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return seed - first + 1, report
}

// number returns the number in an environment variable.
func number(name string, otherwise int) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return cmp.Or(n, otherwise)
}

// TestFound: each mistake is found within its budget, and the program without it
// passes. RONDO_BUGS is how many trials there are, and RONDO_TWINS with how many seeds
// the right program runs.
func TestFound(t *testing.T) {
	trials, twins := number("RONDO_BUGS", 1), number("RONDO_TWINS", 20)
	for _, m := range mistakes {
		if m.heavy && os.Getenv("RONDO_BUGS") == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			var until []int
			begin, runs, report := time.Now(), 0, ""
			for i := range trials {
				n, text := m.seeds(t, i*m.budget+1, m.budget, false)
				until, runs = append(until, n), runs+n
				report = cmp.Or(report, text)
			}
			each := time.Since(begin) / time.Duration(runs)
			slices.Sort(until)
			p95 := until[(len(until)*95+99)/100-1]
			t.Logf("median %d, 95 %% %d, worst %d, budget %d; %v a seed", until[len(until)/2], p95, until[len(until)-1], m.budget, each)
			if testing.Verbose() {
				t.Log(report)
			}
			if p95 > m.budget {
				t.Errorf("seeds until found: %v, budget %d", until, m.budget)
			}
			if n, text := m.seeds(t, 1, twins, true); n <= twins {
				t.Errorf("without the mistake seed %d fails: %s", n, text)
			}
		})
	}
}

// TestOne runs one program with its mistake, in a process that TestShrunk has started.
func TestOne(t *testing.T) {
	if os.Getenv("RONDO_MISTAKE") == "" {
		return
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) { m.run(t, false) })
	}
}

// TestShrunk: of what a seed chose until it found a mistake, a few choices are left,
// after a few runs.
func TestShrunk(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a process for each mistake")
	}
	for _, m := range mistakes {
		if m.heavy {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			name := "^" + regexp.QuoteMeta(strings.ReplaceAll(m.name, " ", "_")) + "$"
			c := exec.Command(os.Args[0], "-test.run=^TestOne$/"+name)
			c.Env = append(os.Environ(), "RONDO_MISTAKE=1", "RONDO_SEED=", "RONDO_SIM_STORE=off", "RONDO_SHRINK=5m")
			out, err := c.CombinedOutput()
			if err == nil {
				t.Fatalf("not found:\n%s", out)
			}
			if testing.Verbose() {
				t.Logf("%s", out)
			}
			if strings.Contains(string(out), "none matters") || strings.Contains(string(out), "livelock") {
				return
			}
			found := regexp.MustCompile(`of its (\d+) choices (\d+) matter \((\d+) runs\)`).FindStringSubmatch(string(out))
			if found == nil {
				t.Fatalf("not shrunk:\n%s", out)
			}
			left, _ := strconv.Atoi(found[2])
			runs, _ := strconv.Atoi(found[3])
			most := 6
			if m.cluster != nil {
				most = 12
			}
			t.Logf("of %s choices %d are left after %d runs", found[1], left, runs)
			if left > most || runs > 1000 {
				t.Errorf("%d choices are left, of at most %d, after %d runs:\n%s", left, most, runs, out)
			}
		})
	}
}

// mistakes are all programs.
var mistakes = slices.Concat(loops, stores, clusters, nemeses)

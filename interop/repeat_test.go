package interop_test

// Programs on simulated hosts, whose seeds are run by several processes: with one processor and
// with more, with a collection of garbage wherever there can be one, and under the race detector.
// A seed has the same hash in all of them.

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// How much TestRepeat does. Without -repeat.seeds it runs two seeds of the first program, because
// to link the others takes a minute. With another GOTOOLCHAIN it shows another release of Go.
var (
	repeatSeeds = flag.String("repeat.seeds", "", "the seeds of all programs that TestRepeat runs")
	repeatRace  = flag.Bool("repeat.race", false, "have TestRepeat run all under the race detector, too")
)

// repeated are the tests whose seeds run.
var repeated = []struct{ folder, tests string }{
	{"../shard", "TestSimServeFaults"},
	{"../examples/register", "TestRegister"},
	{"../examples/raft", "TestCluster"},
	{"../socket", "TestSessionModel|TestAroundHTTP"}, // one loop of tasks; goroutines of net/http
	{"store", "TestGRPCStore|TestDatabases"},
}

// repeatSettings are those of the processes.
var repeatSettings = [][]string{{"GOMAXPROCS=1"}, {"GOMAXPROCS=2"}, {"GOMAXPROCS=8", "GOGC=1"}}

// TestRepeat: a run of a seed does the same in each process.
func TestRepeat(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it links a program")
	}
	programs, seeds := repeated, *repeatSeeds
	if seeds == "" {
		programs, seeds = repeated[:1], "1-2"
	}
	compared := 0
	for _, p := range programs {
		t.Run(filepath.Base(p.folder), func(t *testing.T) {
			first, equal := map[string]string{}, map[string]int{}
			for _, race := range []bool{false, true} {
				if race && !*repeatRace {
					continue
				}
				program := filepath.Join(t.TempDir(), fmt.Sprint("race-", race))
				build := exec.Command("go", "test", "-c", fmt.Sprint("-race=", race), "-o", program, ".")
				build.Dir = p.folder
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				for _, env := range repeatSettings {
					now := hashesOf(t, program, p.folder, p.tests, seeds, env...)
					for seed, hash := range now {
						switch was, ran := first[seed]; {
						case ran && was != hash:
							t.Errorf("%v, race detector: %v: %s has the hash %s, in a process before it was %s", env, race, seed, hash, was)
						case ran:
							test, _, _ := strings.Cut(seed, " ")
							equal[test]++
							compared++
						}
					}
					maps.Copy(first, now)
				}
			}
			t.Logf("hashes that were equal to those of a process before: %v", equal)
		})
	}
	if compared == 0 {
		t.Error("no hashes were compared")
	}
}

// hashesOf returns the hash of each seed of the tests, as a process with this environment has it. A
// run in which the runtime had a part has none.
func hashesOf(t *testing.T, program, folder, tests, seeds string, env ...string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hashes")
	c := exec.CommandContext(t.Context(), program, "-test.run=^("+tests+")$", "-test.timeout=0")
	c.Dir = folder
	c.Env = append(append(os.Environ(), "RONDO_SEED="+seeds, "RONDO_HASHES="+file), env...)
	out, failed := c.CombinedOutput() // a test may want more of all its seeds than these can show
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(out), "sim: seed") {
		t.Fatalf("%v: %v, %v\n%s", env, failed, err, out)
	}
	hashes := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 5 { // the test, which of its calls, the seed, the steps, the hash
			hashes[strings.Join(f[:3], " ")] = strings.Join(f[3:], " ")
		}
	}
	return hashes
}

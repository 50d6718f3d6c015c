package sim

// Fuzz has Go's fuzzer choose seeds, and change what they choose.
//
// The law: an input of the fuzzer is a run that repeats, and one without changes is that of its
// seed. A changed byte changes a few choices in a row and none before them, so the fuzzer can keep
// what a run has reached and vary what follows.

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/rondo-go/rondo/sim/internal/replay"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// Fuzz runs test, which calls [Test] or [Cluster] with its t, for seeds that Go's fuzzer chooses by
// what they cover:
//
//	func FuzzRegister(f *testing.F) { sim.Fuzz(f, TestRegister) }
//
// An input is a seed and bytes that change some of its choices, and test runs once for each. With
// go test -fuzz=FuzzRegister a failure ends the search, and go test keeps its input in
// testdata/fuzz; the report has a RONDO_SEED, such as 7+00a1, with which go test without -fuzz
// repeats the run too. Without -fuzz the inputs in testdata run, and a failure is shrunk, drawn
// and reported as that of any seed. A variable RONDO_SEED takes precedence over the input. If
// test makes several such calls, each gets the same input. Fuzz never suspends.
func Fuzz(f *testing.F, test func(t *testing.T)) {
	f.Helper()
	if test == nil {
		panic("sim: Fuzz with a nil function: it needs a test that calls Test or Cluster")
	}
	for seed := range uint64(fuzzSeeds) {
		f.Add(seed+1, make([]byte, fuzzChanges))
	}
	var ran atomic.Bool
	f.Fuzz(func(t *testing.T, seed uint64, changes []byte) {
		if os.Getenv(replay.Variable) != "" && ran.Swap(true) {
			t.Skip("the run of " + replay.Variable + " has been")
		}
		search.Drive(t, seed, changes)
		test(t)
	})
}

// The inputs with which a fuzzer begins. The second half of the seeds is from those that inject
// delays.
const (
	fuzzSeeds   = 40
	fuzzChanges = 64
)

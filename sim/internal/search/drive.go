package search

// Go's fuzzer drives a test: it gives the seed, and what is changed in its choices.

import (
	"flag"
	"sync"
	"testing"
)

// An input is what the fuzzer has chosen for a test.
type input struct {
	seed    uint64
	changes []byte
}

var inputs struct {
	mu sync.Mutex
	of map[testing.TB]input
}

// Drive makes the calls of Test and Cluster with t run one seed, with changes.
func Drive(t *testing.T, seed uint64, changes []byte) {
	inputs.mu.Lock()
	defer inputs.mu.Unlock()
	if inputs.of == nil {
		inputs.of = make(map[testing.TB]input)
	}
	for n := len(changes); n > 0 && changes[n-1] == 0; n-- {
		changes = changes[:n-1]
	}
	inputs.of[t] = input{seed, changes}
	t.Cleanup(func() {
		inputs.mu.Lock()
		defer inputs.mu.Unlock()
		delete(inputs.of, t)
	})
}

// driven returns the input of a test, if a fuzzer drives it.
func driven(t testing.TB) (in input, ok bool) {
	inputs.mu.Lock()
	defer inputs.mu.Unlock()
	in, ok = inputs.of[t]
	return in, ok
}

// fuzzes reports whether this process tries inputs for the fuzzer.
func fuzzes() bool {
	f := flag.Lookup("test.fuzzworker")
	return f != nil && f.Value.String() == "true"
}

package search

// A Series is what one call of Test, Explore or Cluster tries, and how it judges a run.

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/record"
	"github.com/rondo-go/rondo/sim/internal/replay"
)

// repeatedSeeds is how many seeds a test runs twice. A body that ranges over a map of
// two entries passes one such check in two.
const repeatedSeeds = 20

// ExactSeeds are the first seeds of a Test, in which nothing is late: with them a test
// may compare times exactly.
const ExactSeeds = repeatedSeeds

// Settings say how much is tried. They are fields of sim.Config, with its defaults.
type Settings struct {
	Seeds, SeedsShort     int
	For                   time.Duration
	MaxOrders, Deviations int
	MaxSteps              int
	Exact                 bool
	Late                  time.Duration
	KeepGoing             bool
	Once                  bool // no seed runs twice
	Payload               func(data []byte) string
	Hosts                 bool // runs have several loops
}

// further returns for how long to go on with further seeds.
func (c Settings) further() (time.Duration, error) {
	text := os.Getenv("RONDO_FOR")
	if c.For < 0 {
		panic(fmt.Sprintf("sim: Test with Config.For = %v: use a positive duration, or 0 for no further seeds", c.For))
	}
	if text == "" {
		return c.For, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("sim: RONDO_FOR=%q: want a duration as 1s", text)
	}
	return d, nil
}

// A Series is what one call of Test, Explore or Cluster tries.
type Series struct {
	Settings
	T       testing.TB
	Before  bool   // whether t had failed before the first run
	rough   bool   // whether things may be late from the first seed on
	number  int    // which call in t it is
	stored  string // the file whose choices run
	changes []byte // of the choices of a seed, by a fuzzer
	execute func(a *Run) Outcome
	probes  probes
	events  []record.Event // empty: room for those of the next run that is compared
}

// NewRun returns a run in which c chooses.
func (s *Series) NewRun(c *choice.Choices) *Run {
	r := &Run{Choices: c, Label: "seed " + replay.FormatSeed(c.Seed), MaxSteps: s.MaxSteps, Probes: &s.probes, payload: s.Payload}
	if !s.Before {
		r.test, r.keepGoing = s.T, s.KeepGoing
	}
	return r
}

// Choices returns the choices of a seed.
func (s *Series) Choices(seed uint64) *choice.Choices {
	c := choice.New(seed)
	c.Changes = s.changes
	exact := s.Exact || os.Getenv("RONDO_EXACT") == "1"
	c.Rough = (s.rough || seed > ExactSeeds) && !exact
	c.Shares = seed != 0 && !exact
	return c
}

// run runs the body once.
func (s *Series) run(a *Run) Outcome {
	began := time.Now()
	defer func() { a.took = time.Since(began) }()
	if a.Trace.Shows() {
		driver.Compared.Add(1)
		defer driver.Compared.Add(-1)
	}
	return s.execute(a)
}

// Verdict says what is wrong with the run, or "". It does not return if the body has
// skipped the test.
func (s *Series) Verdict(a *Run, o Outcome) string {
	what := o.Failure()
	switch {
	case a.Violated != "" && !strings.Contains(what, a.Violated):
		return strings.TrimSuffix(a.Violated+"\n"+what, "\n")
	case what != "":
		return what
	case s.T.Failed() && (o.Exited || !s.Before):
		return "the test failed"
	case o.Exited && s.T.Skipped():
		runtime.Goexit()
	case o.Exited:
		return "runtime.Goexit was called"
	}
	return ""
}

// calls counts the calls of Test and Cluster in each test.
var calls callCounter

type callCounter struct {
	mu sync.Mutex
	of map[*testing.T]int
}

// next returns the number of this call in t, from 1.
func (c *callCounter) next(tb testing.TB) int {
	t, ok := tb.(*testing.T)
	if !ok {
		return 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[*testing.T]int)
	}
	if c.of[t] == 0 {
		t.Cleanup(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.of, t)
		})
	}
	c.of[t]++
	return c.of[t]
}

package sim

// This file has the series of runs that a test makes: the failures that are stored,
// then one seed after the other, and the verdict on each.

import (
	"cmp"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// repeatedSeeds is how many seeds a test runs twice. A body that ranges over a map of
// two entries passes one such check in two.
const repeatedSeeds = 20

// A series is what one call of Test, Explore or Cluster tries.
type series struct {
	Config
	t       testing.TB
	before  bool   // whether t had failed before the first run
	rough   bool   // whether things may be late from the first seed on
	number  int    // which call in t it is
	stored  string // the file whose choices run
	execute func(a *attempt) outcome
	probes  probes
	events  []event // empty: room for those of the next run that is compared
}

// series runs the stored failures and the seeds. call is for panics, and execute runs
// the body once.
func (c Config) series(t testing.TB, call string, execute func(a *attempt) outcome) {
	t.Helper()
	s := &series{Config: c.withDefaults(call), t: t, before: t.Failed(), number: calls.next(t), execute: execute, rough: call == "Cluster"}
	if _, ok := t.(*testing.T); s.Goroutines && (!ok || call != "Test") {
		panic("sim: Config.Goroutines needs Test with a *testing.T: use a Config without it")
	}
	if asked := candidates(); asked != nil {
		asked.run(s)
		return
	}
	p, err := planned()
	further, err2 := s.further()
	until := time.Now().Add(further)
	switch err = cmp.Or(err, err2); {
	case err != nil:
		t.Fatal(err)
	case p.list != nil:
		s.repeat(p.first, p.list)
		return
	case !p.seeds:
		s.runStored()
		p.first, p.last = 1, uint64(s.Seeds)
		if testing.Short() {
			p.last = uint64(s.SeedsShort)
		}
	}
	for seed := p.first; ; seed++ {
		s.try(seed, seed-p.first < repeatedSeeds)
		if seed == p.last && (p.seeds || further == 0) || seed > p.last && !time.Now().Before(until) {
			break
		}
	}
	if names := s.probes.missed(); names != "" && !p.seeds && p.last >= uint64(s.Seeds) {
		t.Errorf("sim: in none of %d seeds was this ever true, which must sometimes be: %s", s.Seeds, names)
	}
}

// try runs one seed, and a second time if twice is set, to compare.
func (s *series) try(seed uint64, twice bool) {
	s.t.Helper()
	a := s.newAttempt(s.choices(seed))
	if twice {
		a.trace = &trace{keep: true, events: s.events}
	}
	s.judge(a, s.execute(a), formatSeed(seed))
	if !twice {
		return
	}
	again := s.newAttempt(s.choices(seed))
	again.trace = &trace{follows: a.trace}
	s.judge(again, s.execute(again), formatSeed(seed))
	if d := again.trace.difference(); d != "" {
		s.t.Fatalf("sim: seed %d is not deterministic: %s\n%s\n\treplay: %s", seed, d, causes, command(s.t, formatSeed(seed)))
	}
	clear(a.trace.events)
	s.events = a.trace.events[:0]
}

// choices returns the choices of a seed.
func (s *series) choices(seed uint64) *choices {
	c := newChoices(seed)
	c.rough = (s.rough || seed > exactSeeds) && !s.Exact && os.Getenv("RONDO_EXACT") != "1"
	return c
}

// repeat runs the choices of a list.
func (s *series) repeat(seed uint64, list []choice) {
	s.t.Helper()
	c := s.choices(seed)
	c.repeat(list)
	a := s.newAttempt(c)
	a.tell()
	s.judge(a, s.execute(a), formatList(seed, list))
}

// causes is what to look for in a test that is not deterministic.
const causes = "\tusual causes: the order of a map, time.Now, math/rand without sim.Rand, a select of several channels, a goroutine, a variable that outlives the run"

// verdict says what is wrong with the run, or "". It does not return if the body has
// skipped the test.
func (s *series) verdict(a *attempt, o outcome) string {
	what := o.failure()
	switch {
	case a.violated != "" && !strings.Contains(what, a.violated):
		return strings.TrimSuffix(a.violated+"\n"+what, "\n")
	case what != "":
		return what
	case s.t.Failed() && (o.exited || !s.before):
		return "the test failed"
	case o.exited && s.t.Skipped():
		runtime.Goexit()
	case o.exited:
		return "runtime.Goexit was called"
	}
	return ""
}

// judge ends the test if the run a failed it, or if the body skipped it. replay is the
// value of RONDO_SEED that repeats the run.
func (s *series) judge(a *attempt, o outcome, replay string) {
	s.t.Helper()
	what := s.verdict(a, o)
	if what == "" {
		return
	}
	how := command(s.t, replay)
	if s.stored != "" && len(a.choices.given) > commandMax {
		how = testCommand(s.t)
	}
	s.t.Fatalf("sim: %s: %s\n\tafter %v of virtual time, step %d\n\treplay: %s%s",
		a.label, what, a.ended(o), a.steps.Load(), how, s.shrunk(a, o, what))
}

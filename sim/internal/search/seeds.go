// Package search tries seeds, or all orders, until a run fails. It shortens the failure, keeps it
// in testdata, and reports it.
//
// The law: a run is a function of its choices. So a seed that is tried twice must do the same,
// and a list of choices repeats a failure.
package search

import (
	"cmp"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/record"
	"github.com/rondo-go/rondo/sim/internal/replay"
)

// Seeds runs the stored failures and the seeds. rough says that delays may be injected from
// the first seed on, and execute runs the body once.
func Seeds(t testing.TB, settings Settings, rough bool, execute func(a *Run) Outcome) {
	t.Helper()
	s := &Series{Settings: settings, T: t, Before: t.Failed(), number: calls.next(t), execute: execute, rough: rough}
	p, err := replay.Planned()
	in, fuzzed := driven(t)
	if s.changes = in.changes; p.Seeds {
		s.changes = p.Changes
	}
	if asked := candidates(); asked != nil {
		s.changes = asked.Changes
		asked.run(s)
		return
	}
	further, err2 := s.further()
	until := time.Now().Add(further)
	switch err = cmp.Or(err, err2); {
	case err != nil:
		t.Fatal(err)
	case p.List != nil:
		s.repeat(p.First, p.List)
		return
	case !p.Seeds && fuzzed:
		s.drive(in)
		return
	case !p.Seeds:
		s.runStored()
		p.First, p.Last = 1, uint64(s.Seeds)
		if testing.Short() {
			p.Last = uint64(s.SeedsShort)
		}
	}
	if file := os.Getenv(hashVariable); file != "" {
		s.writeHashes(file, p.First, p.Last)
		return
	}
	for seed := p.First; ; seed++ {
		s.try(seed, !s.Once && seed-p.First < repeatedSeeds)
		if seed == p.Last && (p.Seeds || further == 0) || seed > p.Last && !time.Now().Before(until) {
			break
		}
	}
	if names := s.probes.missed(); names != "" && !p.Seeds && p.Last >= uint64(s.Seeds) {
		t.Errorf("sim: in none of %d seeds was this ever true, which must sometimes be: %s", s.Seeds, names)
	}
}

// drive runs the input of a fuzzer.
func (s *Series) drive(in input) {
	s.T.Helper()
	if !fuzzes() {
		s.runStored()
	}
	a := s.NewRun(s.Choices(in.seed))
	s.judge(a, s.run(a), replay.FormatChanged(in.seed, in.changes))
}

// try runs one seed, and a second time if twice is set, to compare.
func (s *Series) try(seed uint64, twice bool) {
	s.T.Helper()
	a := s.NewRun(s.Choices(seed))
	if twice {
		driver.Compared.Add(1)
		defer driver.Compared.Add(-1)
		a.Trace = &record.Trace{Keep: true, Events: s.events}
	}
	s.judge(a, s.run(a), replay.FormatChanged(seed, s.changes))
	if !twice {
		return
	}
	again := s.NewRun(s.Choices(seed))
	again.Trace = &record.Trace{Follows: a.Trace}
	s.judge(again, s.run(again), replay.FormatChanged(seed, s.changes))
	if d := again.Trace.Difference(); d != "" {
		s.T.Fatalf("sim: seed %d is not deterministic: %s\n%s\n\treplay: %s", seed, d, causes, replay.Command(s.T, replay.FormatChanged(seed, s.changes)))
	}
	clear(a.Trace.Events)
	s.events = a.Trace.Events[:0]
}

// hashVariable names the file to which each seed adds a line, by which processes are compared: of
// another Go release, with more processors, under the race detector.
const hashVariable = "RONDO_HASHES"

// hashTries is how often a seed runs at most until the runtime has had no part in it.
const hashTries = 20

// writeHashes runs the seeds, and adds a line for each to a file. Before the first there is a run
// without a line, because the first one in a process builds what libraries keep.
func (s *Series) writeHashes(file string, first, last uint64) {
	s.T.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		s.T.Fatal(err)
	}
	defer f.Close()
	s.hash(first)
	for seed := first; seed <= last; seed++ {
		var sum string
		for range hashTries {
			var compared bool
			if sum, compared = s.hash(seed); compared {
				break
			}
		}
		if _, err := fmt.Fprintln(f, s.T.Name(), s.number, seed, sum); err != nil {
			s.T.Fatal(err)
		}
	}
}

// hash runs a seed. compared is false if the runtime had a part in what it did.
func (s *Series) hash(seed uint64) (sum string, compared bool) {
	s.T.Helper()
	driver.Compared.Add(1)
	defer driver.Compared.Add(-1)
	a := s.NewRun(s.Choices(seed))
	a.Trace = new(record.Trace)
	s.judge(a, s.run(a), replay.FormatChanged(seed, s.changes))
	return a.Trace.Sum()
}

// repeat runs the choices of a list.
func (s *Series) repeat(seed uint64, list []choice.Choice) {
	s.T.Helper()
	c := s.Choices(seed)
	c.Repeat(list)
	a := s.NewRun(c)
	a.Tell()
	s.judge(a, s.run(a), replay.FormatList(seed, list))
}

// causes is what to look for in a test that is not deterministic.
const causes = "\tusual causes: the order of a map, time.Now, math/rand without sim.Rand, TLS without cryptotest.SetGlobalRandom, a select of several channels, a goroutine, a variable that outlives the run"

// judge ends the test if the run a failed it, or if the body skipped it. value is the
// value of RONDO_SEED that repeats the run.
func (s *Series) judge(a *Run, o Outcome, value string) {
	s.T.Helper()
	what := s.Verdict(a, o)
	if what == "" {
		return
	}
	how := replay.Command(s.T, value)
	if s.stored != "" && len(a.Choices.Given) > commandMax {
		how = replay.TestCommand(s.T)
	}
	lines := s.shrunk(a, o, what)
	s.T.Fatalf("sim: %s: %s\n\tafter %v of virtual time, step %d%s\n\treplay: %s%s",
		a.Label, what, a.ended(o), a.Steps.Load(), a.where(o), how, lines)
}

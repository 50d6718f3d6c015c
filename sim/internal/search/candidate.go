package search

// A process of its own shrinks a failure. A test that has failed cannot be run again in its own
// process: its T has failed already, and what it logs is printed. So the test binary is started
// once more for this test alone, with a count: each time that the test runs there, its call of
// Test is one candidate of the search, with a T of its own. What the process prints is dropped.
// It writes what it found to a file.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/picture"
	"github.com/rondo-go/rondo/sim/internal/record"
	"github.com/rondo-go/rondo/sim/internal/replay"
)

// shrinkVariable is the environment variable that names the folder of a search, in the
// process that does it. A user may set it to "off", or to how long a search may take.
const shrinkVariable = "RONDO_SHRINK"

// An order for a search is written to the file "task" in its folder.
type task struct {
	Test    string
	Number  int // which call in the test
	Seed    uint64
	Changes []byte
	Steps   int    // more than any run may take
	Kind    string // how the seed failed
	Limit   time.Duration
	Took    time.Duration // the run of the seed, in real time
}

// A finding is what the search has found: the file "found" in its folder.
type finding struct {
	List  string   // as choice.Format writes it
	From  int      // how many choices the seed made
	Runs  int      // how many runs the search took
	Words []string // what the choices are
	Place string   // who has failed the test
	State []string // what Show said last before the failure
	Near  string   // which run is nearest that passes, and where it parts
	picture.Files
}

// deadline returns the test's deadline, or reports that the test runs in a bubble of
// testing/synctest, where T.Deadline panics.
func deadline(t *testing.T) (end time.Time, ok, bubble bool) {
	defer func() { bubble = recover() != nil }()
	end, ok = t.Deadline()
	return end, ok, false
}

// search starts a process that shrinks the failure of a seed. It returns nil if there
// is nothing to say, and else what was found, or why nothing was.
func (s *Series) search(a *Run, kind string) (*finding, string) {
	t, ok := s.T.(*testing.T)
	value := os.Getenv(shrinkVariable)
	if !ok || value == "off" || fuzzes() || s.execute == nil {
		return nil, ""
	}
	limit, err := time.ParseDuration(cmp.Or(value, choice.ShrinkTime))
	if err != nil || limit <= 0 {
		return nil, fmt.Sprintf("not shrunk: %s=%q: want a duration as 10s, or off", shrinkVariable, value)
	}
	switch end, ok, bubble := deadline(t); {
	case bubble:
		return nil, "not shrunk: the test runs in a bubble of testing/synctest"
	case ok && time.Until(end) < 4*limit+2*repeats*a.took:
		return nil, "not shrunk: the test's time is almost up"
	}
	dir, err := os.MkdirTemp("", "rondo-shrink-")
	if err != nil {
		return nil, fmt.Sprint("not shrunk: ", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	order, err := json.Marshal(task{
		Test: t.Name(), Number: s.number, Seed: a.Choices.Seed, Changes: s.changes, Steps: 4*int(a.Steps.Load()) + 10_000, Kind: kind,
		Limit: limit, Took: a.took,
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "task"), order, 0o600)
	}
	if err != nil {
		return nil, fmt.Sprint("not shrunk: ", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*limit+2*repeats*a.took)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], searchArgs(t.Name(), os.Args[1:])...)
	c.Env = append(os.Environ(), shrinkVariable+"="+dir)
	failed := c.Run()
	if ctx.Err() != nil {
		return nil, fmt.Sprintf("not shrunk: it took too long; set %s to more than %v", shrinkVariable, limit)
	}
	text, err := os.ReadFile(filepath.Join(dir, "found"))
	found := new(finding)
	if err == nil {
		err = json.Unmarshal(text, found)
	}
	if err != nil {
		return nil, fmt.Sprintf("not shrunk: the test does not fail in the same way in a process of its own (%v)", failed)
	}
	return found, ""
}

// searchArgs returns the arguments of the process that shrinks a test: those of this
// one that are the program's own, and those of package testing that matter to a test.
func searchArgs(name string, args []string) []string {
	own := []string{
		"-test.run=" + replay.Pattern(name), "-test.count=1000000000", "-test.timeout=0",
	}
	for i, arg := range args {
		flag := strings.TrimLeft(arg, "-")
		switch {
		case arg == "--":
			return append(own, args[i:]...)
		case arg == flag, strings.HasPrefix(flag, "test.short"), !strings.HasPrefix(flag, "test."):
			own = append(own, arg)
		}
	}
	return own
}

// asked is the search that this process is for.
type asked struct {
	task
	dir      string
	shrinker choice.Shrinker
	next     func() (choice.Candidate, bool)
	stage    stage
	from     int // how many choices the seed made

	candidate choice.Candidate // that runs, if stage is shorter
	list      []choice.Choice  // that runs in the later stages, and in repeated

	final *Run   // of the shortest list
	what  string // failed in it
	near  near
}

// near is the search for the run that passes and does the same as the final one for longest: it
// does without one of the choices.
type near struct {
	without int // which choice the run does without that runs now
	left    int // the choice whose run was best so far
	at      int // where the two part: the place of an event; 0: none has passed
	words   string
}

// A stage is how far the search has come.
type stage uint8

const (
	first    stage = iota // the seed itself runs, and is recorded
	repeated              // its list runs, which must fail too
	shorter               // shorter lists run
	last                  // the shortest list runs, for the report
	nearest               // it runs without one of its choices
)

// candidates returns the search that this process is for, or nil.
var candidates = sync.OnceValue(func() *asked {
	dir := os.Getenv(shrinkVariable)
	if dir == "" || dir == "off" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "task"))
	a := &asked{dir: dir}
	if err != nil || json.Unmarshal(text, &a.task) != nil {
		return nil
	}
	_ = os.Unsetenv(shrinkVariable)
	_ = os.Setenv(shrinkVariable, "off") // for processes that the test starts
	return a
})

// repeats is how many runs a search has time for in any case, also where one takes long: what a
// body does outside its loop, such as a checker, may take its time.
const repeats = 10 + nearMost

// Patience is how long a run of the search may take in which nothing happens on its loop.
func Patience() time.Duration {
	if a := candidates(); a != nil {
		return a.patience()
	}
	return 0
}

func (a *asked) patience() time.Duration { return max(2*time.Second, 4*a.Took) }

// Shrinking reports whether this process searches for a shorter list of choices.
func Shrinking() bool { return candidates() != nil }

// run runs the next candidate if s is the call that the search is for. It ends the test
// then.
func (a *asked) run(s *Series) {
	if s.T.Name() != a.Test || s.number != a.Number {
		return
	}
	c := s.Choices(a.Seed)
	c.Records = true
	switch a.stage {
	case first:
	case shorter:
		c.Take(a.candidate)
	default:
		c.Repeat(a.list)
	}
	s.MaxSteps = min(s.MaxSteps, a.Steps)
	try := s.NewRun(c)
	if a.stage >= last {
		try.Tell()
	}
	var o Outcome
	returned := false
	defer func() {
		if !returned { // by a Goexit, from verdict
			a.exit(1)
		}
	}()
	o = s.run(try)
	what := s.Verdict(try, o)
	returned = true
	a.judge(s, try, o.Stuck == "" && what != "" && kindOf(try, o) == a.Kind, what)
	s.T.SkipNow()
}

// judge notes how a candidate ended, and makes the next one.
func (a *asked) judge(s *Series, try *Run, failed bool, what string) {
	switch a.stage {
	case first:
		if !failed {
			a.exit(1)
		}
		a.list, a.from, a.stage = slices.Clone(try.Choices.Made), len(try.Choices.Made), repeated
	case repeated:
		if !failed {
			a.exit(1)
		}
		a.shrinker.Until = time.Now().Add(max(a.Limit, repeats*a.Took))
		a.shrinker.Best = slices.Clone(try.Choices.Made)
		a.next, _ = iter.Pull(a.shrinker.Candidates())
		a.advance()
	case shorter:
		a.shrinker.Failed, a.shrinker.Made = failed, try.Choices.Made
		a.advance()
	case last:
		if !failed {
			a.exit(1)
		}
		a.final, a.what, a.stage, a.near.without = try, what, nearest, -1
		a.leaveOut(s.T)
	case nearest:
		if what == "" {
			a.compare(try)
		}
		a.leaveOut(s.T)
	}
}

// leaveOut takes the next run that does without a choice. After the last one it ends the process.
func (a *asked) leaveOut(t testing.TB) {
	a.near.without++
	if i := a.near.without; i < min(len(a.shrinker.Best), nearMost) {
		a.list = slices.Delete(slices.Clone(a.shrinker.Best), i, i+1)
		return
	}
	a.report(t)
}

// nearMost is how many choices are left out in turn, the first ones.
const nearMost = 20

// compare notes a run that passes, if it is nearer than those before.
func (a *asked) compare(try *Run) {
	if at := record.Part(a.final.Trace, try.Trace); at > a.near.at {
		a.near.left, a.near.at = a.near.without, at
		a.near.words = try.Account.Step(at)
	}
}

// report writes what was found, and ends the process.
func (a *asked) report(t testing.TB) {
	account := a.final.Account
	found := finding{
		List: choice.Format(a.shrinker.Best), From: a.from, Runs: a.shrinker.Runs + 3,
		Words: account.Words(), Place: a.final.place, State: account.State(),
	}
	if n := a.near; n.at > 0 {
		found.Near = fmt.Sprintf("without %d. it passes; the first step that differs is the %dth of %d:\n\t  here %s\n\t  there %s",
			n.left+1, n.at+1, a.final.Trace.Count, account.Step(n.at), n.words)
		account.Parts(n.at, fmt.Sprintf("without %d. the test passes; there %s", n.left+1, n.words))
	}
	var err error
	found.Files, err = a.final.picture(t, a.what)
	var text []byte
	if err == nil {
		text, err = json.Marshal(found)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(a.dir, "found"), text, 0o600)
	}
	if err != nil {
		a.exit(1)
	}
	a.exit(0)
}

// advance takes the next list of the search.
func (a *asked) advance() {
	var ok bool
	a.stage = shorter
	if a.candidate, ok = a.next(); !ok {
		a.list, a.stage = a.shrinker.Best, last
	}
}

func (a *asked) exit(code int) { os.Exit(code) }

// kindOf says roughly how a run failed, so that a search does not go from one mistake to
// another.
func kindOf(a *Run, o Outcome) string {
	switch {
	case a.Violated != "":
		return a.Violated
	case o.Stuck != "":
		return "stuck"
	case o.Fault != nil:
		return "panic"
	case o.deadlocked():
		return "deadlock"
	case o.Err != nil && o.Kind != "":
		return o.Kind
	case o.Err != nil:
		return "error"
	}
	return "test"
}

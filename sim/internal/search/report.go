package search

// A report says which choices of a failed run matter, and how to run them again.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/replay"
)

// commandMax is how many choices a command has at most; the file has more.
const commandMax = 100

// shrunk shrinks the failure of a seed, and returns the lines that a report has about
// it.
func (s *Series) shrunk(a *Run, o Outcome, what string) string {
	if a.Choices.Given != nil {
		return s.repeatedLines(a, o, what)
	}
	if o.Stuck != "" || !a.Choices.Drawn() {
		return ""
	}
	found, why := s.search(a, kindOf(a, o))
	if found == nil {
		if why == "" {
			return ""
		}
		return "\n\t" + why
	}
	if strings.HasPrefix(a.place, "task-") && found.Place != "" {
		a.place = found.Place // it knows also the names of tasks that have ended
	}
	list, err := choice.Parse(found.List)
	if err != nil {
		return fmt.Sprintf("\n\tnot shrunk: %v", err)
	}
	var b strings.Builder
	if len(list) == 0 {
		fmt.Fprintf(&b, "\n\tshrunk: of its %d choices none matters: it fails in the order of a real loop", found.From)
	} else {
		fmt.Fprintf(&b, "\n\tshrunk: of its %d choices %d matter (%d runs):", found.From, len(list), found.Runs)
	}
	for i, w := range found.Words {
		fmt.Fprintf(&b, "\n\t  %d. %s", i+1, w)
	}
	if found.Near != "" {
		fmt.Fprintf(&b, "\n\tnearest run: %s", found.Near)
	}
	b.WriteString(stateLines(found.State))
	if slices.ContainsFunc(list, func(c choice.Choice) bool {
		return c.Purpose == choice.ForStall || c.Purpose == choice.ForHold || c.Purpose == choice.ForPoll
	}) {
		fmt.Fprintf(&b, "\n\tthings are late in %s; if the test needs exact times, use sim.Config{Exact: true}", s.lateSeeds())
	}
	stored, line := s.store(a.Choices.Seed, list, found.Words, found.Files)
	if !stored || len(list) <= commandMax {
		fmt.Fprintf(&b, "\n\treplay these alone: %s", replay.Command(s.T, replay.FormatList(a.Choices.Seed, list)))
	}
	return b.String() + line
}

// stateLines are the lines about what Show said last before the failure.
func stateLines(state []string) string {
	if len(state) == 0 {
		return ""
	}
	return "\n\tstate at the failure:\n\t  " + strings.Join(state, "\n\t  ")
}

// lateSeeds says in which seeds things may be late.
func (s *Series) lateSeeds() string {
	if s.rough {
		return "three of four seeds of a cluster"
	}
	return fmt.Sprintf("seeds above %d", ExactSeeds)
}

// repeatedLines are the lines about a list that was repeated.
func (s *Series) repeatedLines(a *Run, o Outcome, what string) string {
	var b strings.Builder
	if s.stored != "" {
		fmt.Fprintf(&b, "\n\tstored: %s", s.stored)
	}
	if account := a.Account; account != nil {
		for i, w := range account.Words() {
			fmt.Fprintf(&b, "\n\t  %d. %s", i+1, w)
		}
		b.WriteString(stateLines(account.State()))
		if s.folder() != "" && !o.Running {
			files, err := a.picture(s.T, what)
			if err != nil {
				return fmt.Sprintf("%s\n\tno picture: %v", b.String(), err)
			}
			b.WriteString(files.Write(s.file(a.Choices.Seed, a.Choices.Made)))
		}
	}
	return b.String()
}

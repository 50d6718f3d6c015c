package sim

// This file has the words of a report: which choices of a failed run matter, and how to
// run them again.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
)

const (
	wordsMax   = 12  // how many choices a report names
	commandMax = 100 // with how many there is a command that has them, and not only the file
)

// An account is what a run tells about the choices that it made.
type account struct {
	run   *attempt
	hosts func(number uint64) string // the names of hosts; nil: there are none
	notes []note
	tasks map[uint64]*rondo.Task
}

// A note is one choice.
type note struct {
	choice choice
	at     time.Duration
	who    uint64   // the task that it made run, or 0
	before []uint64 // the things that had been ready for longer
	event  int      // how many events the trace had before
}

// note keeps what one choice did.
func (a *account) note(c choice, who uint64, before []uint64) {
	a.notes = append(a.notes, note{choice: c, at: a.run.elapsed(), who: who, before: before, event: len(a.run.trace.events)})
}

// words says what each choice did.
func (a *account) words() (words []string) {
	for i, n := range a.notes {
		if i == wordsMax {
			return append(words, fmt.Sprintf("and %d more", len(a.notes)-i))
		}
		words = append(words, fmt.Sprintf("after %v %s", n.at, a.describe(n)))
	}
	return words
}

func (a *account) describe(n note) string {
	switch n.choice.purpose {
	case forOrder, forCallback:
		switch n.choice.place {
		case hostOrder:
			return "another host ran first"
		case hostSteps:
			return "a busy host let others go first"
		case offloadOrder:
			return "another function that was offloaded ran first"
		case earlyOrder:
			return "a function that was offloaded returned while its loop was busy"
		}
		if n.choice.place >= signalOrder && n.who == 0 {
			return "another signal of " + a.host(n.choice.place-signalOrder) + " came first"
		}
		return fmt.Sprintf("%s ran before %s", a.name(n.who), a.list(n.before))
	case forHold:
		return fmt.Sprintf("%s was ready but did not run for %d turns", a.name(n.who), n.choice.value)
	case forStall:
		return fmt.Sprintf("%s ran %v late", a.name(n.who), time.Duration(n.choice.value))
	case forPoll:
		return fmt.Sprintf("the loop woke up %v late", time.Duration(n.choice.value))
	case forChoose:
		return fmt.Sprintf("Choose returned %d to %s", n.choice.value, a.name(n.who))
	}
	return a.describeHost(n)
}

// struckBy is what the kinds of faults, as forFault's values name them in their lowest byte, do to
// a host.
var struckBy = []string{"a partition cut off %s", "%s crashed", "%s lost power", "%s paused", "the clock of %s went wrong", "the disk of %s failed"}

// describeHost is describe for what the network, the disks and the faults of a cluster do.
func (a *account) describeHost(n note) string {
	c := n.choice
	link := fmt.Sprintf("from %s to %s", a.host(c.place>>16), a.host(c.place&0xffff))
	switch c.purpose {
	case forLatency:
		return fmt.Sprintf("a message %s took %v longer", link, time.Duration(c.value))
	case forPacket:
		return "a packet " + link + " was lost, delayed or duplicated"
	case forStream:
		return fmt.Sprintf("a read or write of %s was short", a.host(c.place>>16))
	case forSync:
		return fmt.Sprintf("a Sync of the disk of %s took %v longer", a.host(c.place), time.Duration(c.value))
	case forDisk:
		return "the disk of " + a.host(c.place) + " failed or lost what was not synced"
	case forFault:
		if kind := c.value&0xff - 1; kind < uint64(len(struckBy)) {
			return fmt.Sprintf(struckBy[kind], a.host(c.place&^diskPlace>>8))
		}
	}
	return fmt.Sprintf("%s: %s", purposes[c.purpose.rank()].words, formatChoices([]choice{c}))
}

// where returns who a choice is about, as in an event: the task, or in a cluster the host.
func (a *account) where(n note) uint64 {
	switch c := n.choice; {
	case n.who != 0 || a.hosts == nil:
		return n.who
	case c.purpose == forLatency || c.purpose == forPacket || c.purpose == forStream:
		return c.place >> 16 << 32
	case c.purpose == forDisk || c.purpose == forSync:
		return c.place << 32
	}
	return 1 << 32 // the host "test"
}

// list names what was ready for longer.
func (a *account) list(ids []uint64) string {
	const most = 3
	var names []string
	for i, id := range ids {
		if i == most {
			names = append(names, fmt.Sprintf("%d others", len(ids)-i))
			break
		}
		names = append(names, a.name(id))
	}
	return strings.Join(names, ", ") + ", which had been ready for longer"
}

// host returns the name of a host of a cluster.
func (a *account) host(number uint64) string {
	if a.hosts != nil {
		return a.hosts(number)
	}
	return fmt.Sprintf("host %d", number)
}

// name returns the name of a task.
func (a *account) name(id uint64) string {
	of := ""
	if a.hosts != nil && id>>32 != 0 {
		of = " of " + a.host(id>>32)
	}
	switch t := a.tasks[id]; {
	case id&(1<<32-1) == 0:
		return "a callback" + of
	case t != nil:
		return t.Name() + of
	}
	return fmt.Sprintf("task-%d", id&(1<<32-1)) + of
}

// shrunk shrinks the failure of a seed, and returns the lines that a report has about
// it.
func (s *series) shrunk(a *attempt, o outcome, what string) string {
	if a.choices.given != nil {
		return s.repeatedLines(a, o, what)
	}
	if o.stuck != "" || !a.choices.drawn() {
		return ""
	}
	found, why := s.search(a, kindOf(a, o))
	if found == nil {
		if why == "" {
			return ""
		}
		return "\n\t" + why
	}
	list, err := parseChoices(found.List)
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
	if slices.ContainsFunc(list, func(c choice) bool {
		return c.purpose == forStall || c.purpose == forHold || c.purpose == forPoll
	}) {
		fmt.Fprintf(&b, "\n\tthings are late in %s; if the test needs exact times, use sim.Config{Exact: true}", s.lateSeeds())
	}
	stored, line := s.store(a.choices.seed, list, found.Words, found.drawn)
	if !stored || len(list) <= commandMax {
		fmt.Fprintf(&b, "\n\treplay these alone: %s", command(s.t, formatList(a.choices.seed, list)))
	}
	return b.String() + line
}

// lateSeeds says in which seeds things may be late.
func (s *series) lateSeeds() string {
	if s.rough {
		return "three of four seeds of a cluster"
	}
	return fmt.Sprintf("seeds above %d", exactSeeds)
}

// repeatedLines are the lines about a list that was repeated.
func (s *series) repeatedLines(a *attempt, o outcome, what string) string {
	var b strings.Builder
	if s.stored != "" {
		fmt.Fprintf(&b, "\n\tstored: %s", s.stored)
	}
	if account := a.choices.account; account != nil {
		for i, w := range account.words() {
			fmt.Fprintf(&b, "\n\t  %d. %s", i+1, w)
		}
		if s.folder() != "" && !o.running {
			files, err := account.files(s.t, what)
			if err != nil {
				return fmt.Sprintf("%s\n\tno picture: %v", b.String(), err)
			}
			b.WriteString(files.write(s.file(a.choices.seed, a.choices.made)))
		}
	}
	return b.String()
}

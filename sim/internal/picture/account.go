// Package picture tells what happened in a run that has ended: its choices in words, and its
// events as a page and as trace events.
package picture

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// wordsMax is how many choices a report names.
const wordsMax = 12

// An Account says in words what the choices of a run did.
type Account struct {
	clock func() time.Duration       // the virtual time since the run began
	trace *record.Trace              // of the run
	hosts func(number uint64) string // the names of hosts; nil: there are none
	notes []note
	tasks map[uint64]*rondo.Task

	failed  bool
	failure mark // if failed

	parts int    // where the nearest run parts that passes: the place of an event, or 0
	there string // what that one does
}

// Parts notes where the nearest run parts that passes: before which event, and what it does there.
func (a *Account) Parts(event int, there string) { a.parts, a.there = event, there }

// A mark is a place in a trace.
type mark struct {
	event int    // how many events the trace had before
	who   uint64 // the task that ran, or 0
	at    time.Duration
}

// Fails notes that the run has failed, where the task who ran last. Only the first failure counts.
func (a *Account) Fails(who uint64) {
	if a != nil && !a.failed {
		a.failed, a.failure = true, mark{len(a.trace.Events), who, a.clock()}
	}
}

// New returns the account of a run. Note must be called with each of its choices, and
// Started with each of its tasks.
func New(clock func() time.Duration, trace *record.Trace) *Account {
	return &Account{clock: clock, trace: trace, tasks: make(map[uint64]*rondo.Task)}
}

// Started notes a task, for its name.
func (a *Account) Started(number uint64, t *rondo.Task) {
	if a != nil {
		a.tasks[number] = t
	}
}

// NameHosts gives an account the names of the hosts of a cluster. hosts returns "" for a
// number that no host has.
func (a *Account) NameHosts(hosts func(number uint64) string) {
	if a != nil {
		a.hosts = hosts
	}
}

// A note is one choice.
type note struct {
	choice choice.Choice
	at     time.Duration
	who    uint64   // the task that it made run, or 0
	before []uint64 // the things that had been ready for longer
	event  int      // how many events the trace had before
	words  string   // that it was given; see Say
}

// Note keeps what one choice did.
func (a *Account) Note(c choice.Choice, who uint64, before []uint64) {
	a.notes = append(a.notes, note{choice: c, at: a.clock(), who: who, before: before, event: len(a.trace.Events)})
}

// Say gives the last choice its words.
func (a *Account) Say(words choice.Words) {
	if n := len(a.notes); n > 0 {
		a.notes[n-1].words = words(a.host)
	}
}

// Words says what each choice did.
func (a *Account) Words() (words []string) {
	for i, n := range a.notes {
		if i == wordsMax {
			return append(words, fmt.Sprintf("and %d more", len(a.notes)-i))
		}
		words = append(words, fmt.Sprintf("after %v %s", n.at, a.describe(n)))
	}
	return words
}

func (a *Account) describe(n note) string {
	switch {
	case n.choice.Purpose == choice.ForShare:
		return fmt.Sprintf("%s gave others a turn in %s", a.name(n.who), cmp.Or(n.words, "a call"))
	case n.words != "":
		return n.words
	}
	switch n.choice.Purpose {
	case choice.ForOrder, choice.ForCallback:
		switch n.choice.Place {
		case choice.HostOrder:
			return "another host ran first"
		case choice.HostSteps:
			return "a busy host let others go first"
		case choice.OffloadOrder:
			return "another function that was offloaded ran first"
		case choice.EarlyOrder:
			return "a function that was offloaded returned while its loop was busy"
		}
		if n.choice.Place >= choice.SignalOrder && n.who == 0 {
			return "another signal of " + a.host(n.choice.Place-choice.SignalOrder) + " came first"
		}
		return fmt.Sprintf("%s ran before %s", a.name(n.who), a.list(n.before))
	case choice.ForHold:
		return fmt.Sprintf("%s was ready but did not run for %d turns", a.name(n.who), n.choice.Value)
	case choice.ForStall:
		return fmt.Sprintf("%s ran %v late", a.name(n.who), time.Duration(n.choice.Value))
	case choice.ForPoll:
		return fmt.Sprintf("the loop woke up %v late", time.Duration(n.choice.Value))
	case choice.ForChoose:
		return fmt.Sprintf("Choose returned %d to %s", n.choice.Value, a.name(n.who))
	}
	return a.describeHost(n)
}

// describeHost is describe for what the network, the disks and the faults of a cluster do.
func (a *Account) describeHost(n note) string {
	c := n.choice
	link := fmt.Sprintf("from %s to %s", a.host(c.Place>>16), a.host(c.Place&0xffff))
	switch c.Purpose {
	case choice.ForLatency:
		return fmt.Sprintf("a message %s took %v longer", link, time.Duration(c.Value))
	case choice.ForPacket:
		return "a packet " + link + " was lost, delayed or duplicated"
	case choice.ForStream:
		return fmt.Sprintf("a read or write of %s was short", a.host(c.Place>>16))
	case choice.ForSync:
		return fmt.Sprintf("a Sync of the disk of %s took %v longer", a.host(c.Place), time.Duration(c.Value))
	case choice.ForDisk:
		return "the disk of " + a.host(c.Place) + " failed or lost what was not synced"
	case choice.ForFault:
		if words := choice.Strike(c.Value, a.host(c.Place&^choice.DiskPlace>>8)); words != "" {
			return words
		}
	}
	return fmt.Sprintf("%s: %s", choice.Kinds[c.Purpose.Rank()].Words, choice.Format([]choice.Choice{c}))
}

// where returns who a choice is about, as in an event: the task, or in a cluster the host.
func (a *Account) where(n note) uint64 {
	switch c := n.choice; {
	case n.who != 0 || a.hosts == nil:
		return n.who
	case c.Purpose == choice.ForLatency || c.Purpose == choice.ForPacket || c.Purpose == choice.ForStream:
		return c.Place >> 16 << 32
	case c.Purpose == choice.ForDisk || c.Purpose == choice.ForSync:
		return c.Place << 32
	case c.Purpose == choice.ForFault && c.Place != 0:
		return c.Place &^ choice.DiskPlace >> 8 << 32
	}
	return 1 << 32 // the host "test"
}

// list names what was ready for longer.
func (a *Account) list(ids []uint64) string {
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
func (a *Account) host(number uint64) string {
	if a.hosts != nil {
		if name := a.hosts(number); name != "" {
			return name
		}
	}
	return fmt.Sprintf("host %d", number)
}

// Name returns the name of a task, or "" if it was not told of it.
func (a *Account) Name(id uint64) string {
	if a == nil || a.tasks[id] == nil {
		return ""
	}
	return a.tasks[id].Name()
}

// name returns the name of a task.
func (a *Account) name(id uint64) string {
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

package inspect

// Conclusions about a program, for everything that shows them: check, ps, tree, top, the page, the
// metrics and the exit statuses. The law: a verdict follows from the Program alone
// and carries its evidence, and where a part of the program could not be read, none says that all
// is well.

import (
	"slices"
	"strings"
	"time"
)

// The kinds of verdicts, besides those of warnings.
const (
	VerdictUnread   = "unread"   // a part of the program could not be read
	VerdictStopped  = "stopped"  // the process is stopped
	VerdictHeld     = "held"     // something keeps a loop from turning
	VerdictDeadlock = "deadlock" // nothing can run, and nothing known can wake the loop
	VerdictLate     = "late"     // a loop sleeps although a timer has been due for long
	VerdictCycle    = "cycle"    // tasks wait for each other
)

// A Verdict is a conclusion about a program.
type Verdict struct {
	Kind  string
	Loop  string   // the loop that it is about; "" if it is about the whole program, or several loops
	Task  uint64   // the task that it is about; 0 if it is not about one task
	Tasks []TaskID // those of a cycle
	Text  string   // what is concluded, and from what
}

// String returns the verdict as check prints it.
func (v Verdict) String() string {
	switch v.Kind {
	case VerdictUnread:
		return "UNREAD: " + v.Text
	case VerdictStopped, VerdictHeld, VerdictDeadlock, VerdictLate, VerdictCycle:
		return strings.ToUpper(v.Kind) + ": " + v.Text
	}
	return "WARNING: " + v.Text
}

// lateness is how long the first timer of a sleeping loop must have been due before the loop
// counts as late. lately is how long a long step is reported after it has ended.
const (
	lateness = time.Second
	lately   = 10 * time.Second
)

// mostOwners bounds how far outwards a deadline is looked for.
const mostOwners = 1000

// Verdicts returns all conclusions about the program. The first ones say what could not be read,
// the next ones what keeps the program from going on, and the last ones are the warnings of
// Loop.Warnings(limit). If there is none, nothing looks wrong.
func (p *Program) Verdicts(limit time.Duration) []Verdict {
	out := p.faults(0)
	for _, l := range p.Loops {
		for _, w := range l.Warnings(limit) {
			out = append(out, Verdict{Kind: w.Kind, Loop: l.Name, Task: w.Task, Text: w.Text})
		}
	}
	return out
}

// faults returns the verdicts that are no warnings. Of a cycle so many tasks are named at most,
// and with that bound their names are shortened; 0 for all.
func (p *Program) faults(most int) (out []Verdict) {
	if p.Missing != "" {
		out = append(out, Verdict{Kind: VerdictUnread, Text: p.Missing})
	}
	for _, l := range p.Loops {
		if l.Short != "" {
			out = append(out, Verdict{Kind: VerdictUnread, Loop: l.Name, Text: l.Short})
		}
	}
	if p.Stopped {
		out = append(out, Verdict{Kind: VerdictStopped, Text: toContinue(p.PID)})
	}
	for _, l := range p.Loops {
		if v, ok := l.heldUp(); ok {
			out = append(out, v)
		}
		if v, ok := l.dead(); ok {
			out = append(out, v)
		}
		if v, ok := l.late(); ok && !p.Stopped {
			out = append(out, v)
		}
	}
	shortened := func(name string) string {
		if most > 0 {
			return clip(name)
		}
		return name
	}
	if names := namesAcross(p); len(p.Rings) > 0 {
		for _, ring := range p.Rings {
			text := cycleText(len(ring), most, func(i int) string { return shortened(names(ring[i])) })
			out = append(out, Verdict{Kind: VerdictCycle, Tasks: ring, Text: text + p.ends(ring, names)})
		}
	}
	for _, l := range p.Loops {
		names := namesIn(l)
		for _, cycle := range l.Cycles {
			ring := make([]TaskID, len(cycle))
			for i, id := range cycle {
				ring[i] = TaskID{l.Name, id}
			}
			text := cycleText(len(cycle), most, func(i int) string { return shortened(names(cycle[i])) })
			ends := l.endOf(cycle)
			out = append(out, Verdict{Kind: VerdictCycle, Loop: l.Name, Tasks: ring, Text: text + ends.words(names)})
		}
	}
	return out
}

// heldUp is the verdict about what holds the loop.
func (l *Loop) heldUp() (Verdict, bool) {
	h := l.Held
	if h == nil {
		return Verdict{}, false
	}
	who := "a callback, or the loop itself,"
	if h.Task != 0 {
		who = labelIn(l, h.Task)
	}
	return Verdict{Kind: VerdictHeld, Loop: l.Name, Task: h.Task, Text: who + " has held the loop for " + short(h.For) + ": " + h.Advice}, true
}

// dead is the verdict about a deadlock.
func (l *Loop) dead() (Verdict, bool) {
	return Verdict{Kind: VerdictDeadlock, Loop: l.Name, Text: "for " + short(l.Deadlock) + " nothing could run, no timer was set, and nothing known could wake the loop"}, l.Deadlock > 0
}

// late is the verdict about a loop that should have woken up.
func (l *Loop) late() (Verdict, bool) {
	text := "the loop sleeps, and its first timer has been due for " + short(l.Lag) + ": its process was stopped, or gets no processor"
	return Verdict{Kind: VerdictLate, Loop: l.Name, Text: text}, l.Held == nil && l.Running == 0 && l.Ready == 0 && l.Lag >= lateness
}

// An ending is the deadline that ends a cycle, by a cancellation.
type ending struct {
	host uint64        // the task in whose Timeout or Deadline it is
	left time.Duration // until that passes; 0: nothing known ends it
}

func (e ending) words(name func(id uint64) string) string {
	if e.left <= 0 {
		return ""
	}
	return "; it ends by the Timeout of " + name(e.host) + " in " + short(e.left)
}

// ends says by which deadline a cycle through several loops ends.
func (p *Program) ends(ring []TaskID, name func(id TaskID) string) string {
	var first ending
	var loop string
	for _, l := range p.Loops {
		var ids []uint64
		for _, id := range ring {
			if id.Loop == l.Name {
				ids = append(ids, id.ID)
			}
		}
		if e := l.endOf(ids); e.left > 0 && (first.left == 0 || e.left < first.left) {
			first, loop = e, l.Name
		}
	}
	return first.words(func(id uint64) string { return name(TaskID{loop, id}) })
}

// endOf returns the first deadline that ends the wait of one of some tasks: that of a scope that
// it has opened, or that owns it, and so on outwards as far as the first Shield. A wait with
// another ctx is not ended by these, and that for a Group is by way of its tasks.
func (l *Loop) endOf(ids []uint64) (first ending) {
	find := l.byID()
	for _, id := range ids {
		i, ok := find(id)
		if !ok || l.Tasks[i].outer {
			continue
		}
		t, scopes := l.Tasks[i], l.Tasks[i].Scopes
		for range mostOwners {
			shielded := false
			for _, s := range slices.Backward(scopes) {
				if s.Left > 0 && !shielded && (first.left == 0 || s.Left < first.left) {
					first = ending{t.ID, s.Left}
				}
				shielded = shielded || s.Kind == "shield"
			}
			o := t.Owner
			if shielded || o == nil {
				break
			}
			if i, ok = find(o.Host); !ok || o.Depth > len(l.Tasks[i].Scopes) {
				break
			}
			t = l.Tasks[i]
			scopes = t.Scopes[:o.Depth]
		}
	}
	return first
}

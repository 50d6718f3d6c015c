package inspect

// The things for which tasks wait: locks, queues, events, other tasks.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A Resource is a thing for which tasks of a loop wait, other than a descriptor. A thing for
// which no task waits is in no list of the loop, so it is not known.
type Resource struct {
	Kind    string        // the word for it: lock, rlock, semaphore, get, put, event, task
	Name    string        // in quotes; "" if it has none
	Holder  uint64        // the task that can end the waits; 0 if none is known
	Waiting int           // how many tasks wait for it
	Longest time.Duration // the longest wait
	First   uint64        // the task that has waited longest
}

// Resources returns the things for which tasks of the loop wait: those for which most
// wait come first. Tasks in a Select are left out, and those that ran while the snapshot
// was taken.
func (l *Loop) Resources() []Resource {
	type key struct {
		thing uint64
		kind  string
	}
	places := make(map[key]int)
	var out []Resource
	for _, t := range l.Tasks {
		if t.Thing == 0 || t.FD != 0 || slices.Contains(ofDescriptor, t.What) {
			continue
		}
		k := key{t.Thing, t.What}
		i, ok := places[k]
		if !ok {
			i = len(out)
			places[k] = i
			name := strings.TrimPrefix(strings.TrimPrefix(t.kindOfWait(), t.What), " ")
			out = append(out, Resource{Kind: t.What, Name: name, Holder: t.On})
		}
		r := &out[i]
		if r.Waiting++; t.Since > r.Longest || r.First == 0 {
			r.Longest, r.First = t.Since, t.ID
		}
	}
	slices.SortStableFunc(out, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Longest, a.Longest))
	})
	return out
}

// What a Warning is about.
const (
	WarnWait   = "long wait"    // a task has waited long for something that other tasks must release
	WarnNobody = "nobody holds" // tasks wait for a lock whose holder has ended without Unlock
	WarnSelf   = "wakes itself" // a task runs again and again without waiting for anything
	WarnSteps  = "long steps"   // a task keeps the loop to itself
)

// A Warning is something that looks wrong in a snapshot.
type Warning struct {
	Kind string
	Task uint64 // whom it is about
	Text string
}

// Thresholds of warnings: how many times a second a task runs that wakes itself, and how long a
// step takes in which no other task can run. And how many warnings of a kind are listed.
const (
	selfWakes = 1000
	longStep  = 100 * time.Millisecond
	mostWarns = 20
)

// giveBack are the words for what one task gets when another gives it back.
var giveBack = []string{"lock", "rlock", "semaphore", "put", "room"}

// shorter is the cure of long steps.
const shorter = "call rondo.Yield from time to time, or use Offload, unless its process was stopped or had no processor then"

// Warnings returns what looks wrong in the loop: tasks that have waited for a lock, for
// permits or for room in a queue as long as the limit or longer, locks that nobody holds,
// tasks that run again and again without waiting, which only a snapshot with stacks shows,
// and long steps in the last 10 s, also of tasks that have ended. A limit of 0 leaves the first
// kind out. What holds the loop just now, and cycles, are in Held and Cycles.
func (l *Loop) Warnings(limit time.Duration) []Warning {
	var out []Warning
	counts := make(map[string]int)
	add := func(kind string, t *Task, format string, args ...any) {
		if counts[kind]++; counts[kind] <= mostWarns {
			out = append(out, Warning{kind, t.ID, fmt.Sprintf("#%d %s ", t.ID, t.Name) + fmt.Sprintf(format, args...)})
		}
	}
	unheld := make(map[uint64]bool)
	for _, t := range l.Tasks {
		// This is the loop's account, which is right of a task that ran meanwhile, too.
		if n, most := l.longSteps(t); n > 0 {
			add(WarnSteps, t, "has had %s of up to %s in the last %s, and %d of a millisecond or more since it was started: %s",
				count(n, "step"), short(most), short(lately), max(t.SlowSteps, n), shorter)
		}
		if t.Moved {
			continue
		}
		if limit > 0 && t.Since >= limit && slices.Contains(giveBack, t.What) {
			add(WarnWait, t, "has waited %s for %s", short(t.Since), t.Waiting)
		}
		if t.Abandoned && !unheld[t.Thing] {
			unheld[t.Thing] = true
			add(WarnNobody, t, "waits for %s, which no living task is known to hold: the one that took it has ended without Unlock", t.Waiting)
		}
		if n := perSecond(t.Switches, t.Age); n >= selfWakes && t.yields() {
			add(WarnSelf, t, "has run %.0f times a second, and is ready again without having waited: it may call Yield, or Sleep with 0, in a loop", n)
		}
	}
	for _, s := range l.LongSteps {
		alive := slices.ContainsFunc(l.Tasks, func(t *Task) bool { return t.ID == s.Task })
		if s.Took < longStep || s.Ago > lately || alive {
			continue
		}
		if counts[WarnSteps]++; counts[WarnSteps] <= mostWarns {
			out = append(out, Warning{WarnSteps, s.Task, by(l, s) + fmt.Sprintf(" had a step of %s, %s ago: %s", short(s.Took), short(s.Ago), shorter)})
		}
	}
	for _, kind := range []string{WarnWait, WarnNobody, WarnSelf, WarnSteps} {
		if more := counts[kind] - mostWarns; more > 0 {
			out = append(out, Warning{kind, 0, fmt.Sprintf("and %s more: %s", count(more, "task"), kind)})
		}
	}
	return out
}

// by names whose step it was.
func by(l *Loop, s Step) string {
	if s.Task == 0 {
		return "a callback, or one of several tasks"
	}
	return labelIn(l, s.Task)
}

// longSteps returns how many steps of a task have held the loop lately, and the longest. One that
// was over longer ago is in LongSteps and no warning.
func (l *Loop) longSteps(t *Task) (n int, most time.Duration) {
	for _, s := range l.LongSteps {
		if s.Task == t.ID && s.Took >= longStep && s.Ago <= lately {
			n, most = n+1, max(most, s.Took)
		}
	}
	return n, most
}

// yields reports whether a task is ready because it has called Yield, or Sleep with 0, which its
// stack shows. One that made room for others within a call that need not wait, such as a Read
// of what is there already, has not.
func (t *Task) yields() bool {
	if t.State != "ready" {
		return false
	}
	yielding := false
	for _, f := range t.Stack {
		switch f.Func {
		case module + ".Yield":
			return true
		case module + ".Sleep", module + ".SleepUntil":
			return yielding // without that, its time has come
		case module + ".(*Task).yield":
			yielding = true
		}
		if f.Own() {
			return false
		}
	}
	return false
}

// perSecond returns how often a second something happened.
func perSecond(n uint64, in time.Duration) float64 {
	if in < time.Second {
		return 0 // too little is known
	}
	return float64(n) / in.Seconds()
}

// WriteWarnings writes a line for each warning.
func (l *Loop) WriteWarnings(w io.Writer, limit time.Duration) error {
	var b strings.Builder
	for _, warning := range l.Warnings(limit) {
		b.WriteString("WARNING: " + warning.Text + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

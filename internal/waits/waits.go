// Package waits says in words what the tasks of a loop wait for.
package waits

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// most is how many tasks are described, and how many rings, and tasks of a ring.
const most = 100

// A Task is what is said of one task.
type Task struct {
	Name  string
	State string
	Site  string // where it was started; empty if that is not known

	Waiting bool
	What    string // what it waits for, such as "lock"
	Of      string // the name of that, or empty
	On      uint64 // the number of that, or 0
	Owner   string // the name of the task that can end the wait, or empty
	Own     bool   // that is the task itself
}

// String returns what the task waits for.
func (t Task) String() string {
	what := t.What
	if t.Of != "" {
		what += " " + strconv.Quote(t.Of)
	}
	switch {
	case t.Owner != "" && what == "task":
		return t.Owner
	case t.Own:
		return what + " held by the task itself: it is not re-entrant"
	case t.Owner != "":
		return what + " held by " + t.Owner
	case t.On != 0:
		return fmt.Sprintf("%s %d", what, t.On)
	}
	return what
}

// NameOf returns the name in a rondo.WaitList's Of, a *string or a net.Addr, or "". A String
// of the program's that panics is said in place of the name, as package fmt does.
func NameOf(of any) string {
	switch of := of.(type) {
	case *string:
		if of != nil {
			return *of
		}
	case fmt.Stringer:
		return fmt.Sprint(of)
	}
	return ""
}

// Describe says in a line each what tasks wait for and where, as line says it, and where they
// were started if that is known; and first which of them wait for each other in rings. Of the
// tasks that there is no room for it says how many wait for what.
func Describe[T any](tasks iter.Seq[T], rings [][]T, describe func(T) Task, line func(T) string) string {
	var b strings.Builder
	for i, ring := range rings {
		if i == most {
			fmt.Fprintf(&b, "\n\tand in %d rings more", len(rings)-most)
			break
		}
		b.WriteString("\n\tin a ring, which only a cancellation can end: " + describe(ring[0]).Name)
		for i := range ring {
			if i == most-1 && len(ring) > most {
				fmt.Fprintf(&b, ", and so on: %d more", len(ring)-most)
				break
			}
			if i > 0 {
				b.WriteString(", which")
			}
			b.WriteString(" waits for " + describe(ring[(i+1)%len(ring)]).Name)
		}
	}
	described, more := 0, make(map[string]int)
	for task := range tasks {
		t := describe(task)
		if described++; described > most {
			more[t.kind()]++
			continue
		}
		if !t.Waiting {
			fmt.Fprintf(&b, "\n\t%s is %s", t.Name, t.State)
		} else {
			fmt.Fprintf(&b, "\n\t%s waits for %s", t.Name, t)
			if at := line(task); at != "" {
				fmt.Fprintf(&b, " at %s", at)
			}
		}
		if t.Site != "" {
			fmt.Fprintf(&b, ", started at %s", t.Site)
		}
	}
	if described > most {
		fmt.Fprintf(&b, "\n\tand %d more: %s", described-most, folded(more))
	}
	return b.String()
}

// kind says of a task what it does, so that many which do the same can be counted.
func (t Task) kind() string {
	switch {
	case !t.Waiting:
		return t.State
	case t.Of == "":
		return t.What
	}
	return t.What + " " + strconv.Quote(t.Of)
}

// mostKinds is how many kinds of tasks are named of those that there is no room for.
const mostKinds = 8

// folded says how many tasks there are of each kind, the most first.
func folded(kinds map[string]int) string {
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(kinds[b]-kinds[a], strings.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if i == mostKinds {
			parts = append(parts, "others")
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", kinds[name], name))
	}
	return strings.Join(parts, ", ")
}

// Package waits says in words what the tasks of a loop wait for.
package waits

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/rondo-go/rondo/internal/stacks"
)

// most is how many tasks are described, and how many rings, and tasks of a ring.
const most = 100

// A Task is what is said of one task.
type Task struct {
	Name      string
	State     string
	Goroutine uint64
	Site      string // where it was started; empty if that is not known

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

// Describe says in a line each what n tasks wait for and where, and where they were
// started if that is known; and first which of them wait for each other in rings. It
// stops the program to read the stacks.
func Describe[T any](tasks iter.Seq[T], n int, rings [][]T, describe func(T) Task) string {
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
	lines := stacks.Lines()
	described := 0
	for task := range tasks {
		if described++; described > most {
			fmt.Fprintf(&b, "\n\tand %d more", n-most)
			break
		}
		t := describe(task)
		if !t.Waiting {
			fmt.Fprintf(&b, "\n\t%s is %s", t.Name, t.State)
		} else {
			fmt.Fprintf(&b, "\n\t%s waits for %s", t.Name, t)
			if line := lines(t.Goroutine); line != "" {
				fmt.Fprintf(&b, " at %s", line)
			}
		}
		if t.Site != "" {
			fmt.Fprintf(&b, ", started at %s", t.Site)
		}
	}
	return b.String()
}

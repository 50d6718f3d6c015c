package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Group is the tasks of a loop that have something in common.
type Group struct {
	Key     string // what they have in common, in words
	Tasks   int
	Longest time.Duration // the longest wait among them
	Total   time.Duration // the sum of all their waits
	First   *Task         // the one that was started first
	Moved   int           // how many of them ran while the snapshot was taken
}

// A GroupBy is the property by which tasks are put into groups.
type GroupBy string

const (
	ByWait  GroupBy = "wait"  // what they wait for: the kind of thing, and its name if it has one
	ByFunc  GroupBy = "func"  // the function that they run
	ByStack GroupBy = "stack" // where they are, by the program's own calls
	ByScope GroupBy = "scope" // the scope that owns them
)

// Groups puts the loop's tasks into groups, the largest first. The waits and the places of tasks
// that ran while the snapshot was taken are not known; such tasks are a group of their own.
func (l *Loop) Groups(by GroupBy) []Group {
	names := make(map[uint64]*Task)
	if by == ByScope {
		for _, t := range l.Tasks {
			names[t.ID] = t
		}
	}
	shapes := make(map[*Frame]string)
	groups := make(map[string]*Group)
	var all []*Group
	for _, t := range l.Tasks {
		key := ""
		switch {
		case by == ByFunc:
			key = t.Func
		case by == ByScope:
			key = t.scope(names)
		case t.Moved:
			key = "(ran meanwhile)"
		case by == ByStack:
			key = folded(t.Stack, shapes)
		default:
			key = t.kindOfWait()
		}
		g := groups[key]
		if g == nil {
			g = &Group{Key: key, First: t}
			groups[key], all = g, append(all, g)
		}
		g.Tasks++
		g.Total += t.Since
		g.Longest = max(g.Longest, t.Since)
		if t.Moved {
			g.Moved++
		}
		if t.ID < g.First.ID {
			g.First = t
		}
	}
	slices.SortFunc(all, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(b.Tasks, a.Tasks), cmp.Compare(a.First.ID, b.First.ID))
	})
	out := make([]Group, len(all))
	for i, g := range all {
		out[i] = *g
	}
	return out
}

// kindOfWait says what a task waits for, without what differs from task to task.
func (t *Task) kindOfWait() string {
	if t.What == "" {
		return t.State
	}
	// A name is in quotes.
	rest := strings.TrimPrefix(t.Waiting, t.What+" ")
	if name, err := strconv.QuotedPrefix(rest); err == nil && rest[0] == '"' {
		return t.What + " " + name
	}
	return t.What
}

// scope names the scope that owns the task.
func (t *Task) scope(tasks map[uint64]*Task) string {
	if t.Owner == nil {
		return "(the loop)"
	}
	host := tasks[t.Owner.Host]
	if host == nil {
		return fmt.Sprintf("a scope of #%d", t.Owner.Host)
	}
	kind := "scope"
	if d := t.Owner.Depth; d > 0 && d <= len(host.Scopes) {
		kind = host.Scopes[d-1].Kind
	}
	return fmt.Sprintf("%s of #%d %s", kind, host.ID, host.Name)
}

// folded returns the program's calls on a stack in one line, the outermost first,
// as tools for flame graphs read them. Tasks with the same stack share it within a
// snapshot.
func folded(stack []Frame, shapes map[*Frame]string) string {
	if len(stack) == 0 {
		return "(no stack)"
	}
	if kept, ok := shapes[&stack[0]]; ok {
		return kept
	}
	calls := own(stack)
	var b strings.Builder
	for i := len(calls) - 1; i >= 0; i-- {
		if b.Len() > 0 {
			b.WriteByte(';')
		}
		// A semicolon ends a call.
		b.WriteString(strings.ReplaceAll(calls[i].Func, ";", ","))
	}
	if b.Len() == 0 {
		b.WriteString("(none of the program's)")
	}
	shapes[&stack[0]] = b.String()
	return b.String()
}

// groupOf returns what a task waits for and its function.
func groupOf(t *Task) [2]string {
	if t.Moved {
		return [2]string{"(ran meanwhile)", t.Func}
	}
	return [2]string{t.kindOfWait(), t.Func}
}

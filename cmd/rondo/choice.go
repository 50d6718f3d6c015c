package main

// The flags of ps that choose tasks: which, in what order, how many, one by one or
// in groups.

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-go/rondo/inspect"
)

// A choice is what the flags of ps say about tasks. The zero value takes all.
type choice struct {
	filter string
	sort   string
	limit  int // 0: all
	group  string
	fields []field // nil: the usual ones
}

// sorts are the orders in which tasks can be shown; those that come first in an
// order are what is looked for.
var sorts = map[string]func(a, b *inspect.Task) int{
	"id":       func(a, b *inspect.Task) int { return 0 },
	"name":     func(a, b *inspect.Task) int { return strings.Compare(a.Name, b.Name) },
	"since":    func(a, b *inspect.Task) int { return cmp.Compare(b.Since, a.Since) },
	"age":      func(a, b *inspect.Task) int { return cmp.Compare(b.Age, a.Age) },
	"switches": func(a, b *inspect.Task) int { return cmp.Compare(b.Switches, a.Switches) },
	"busy":     func(a, b *inspect.Task) int { return cmp.Compare(b.Busy, a.Busy) },
	"longest":  func(a, b *inspect.Task) int { return cmp.Compare(b.LongestStep, a.LongestStep) },
}

var groupings = []string{string(inspect.ByWait), string(inspect.ByFunc), string(inspect.ByStack), string(inspect.ByScope)}

// flags adds the flags.
func (ch *choice) flags(o *options) {
	o.text(&ch.filter, "filter", named("filter", "a text that rows contain"))
	o.text(&ch.sort, "sort", func(text string) error {
		if sorts[text] == nil {
			return usagef("--sort takes id, name, since, age, switches, busy or longest, not %q", text)
		}
		return nil
	})
	o.add("columns", func(text string) (err error) {
		ch.fields, err = fieldsNamed(text)
		return err
	})
	o.number(&ch.limit, "limit", "a whole number from 1 up", 1<<30)
	o.text(&ch.group, "group", func(text string) error {
		if !slices.Contains(groupings, text) {
			return usagef("--group takes wait, func, stack or scope, not %q", text)
		}
		return nil
	})
}

// apply leaves the chosen tasks in a snapshot, in their order.
func (ch *choice) apply(p *inspect.Program) {
	text := strings.ToLower(ch.filter)
	for _, l := range p.Loops {
		before := len(l.Tasks)
		if text != "" {
			l.Tasks = slices.DeleteFunc(l.Tasks, func(t *inspect.Task) bool { return !contains(t, text) })
		}
		if ch.sort != "" {
			slices.SortStableFunc(l.Tasks, func(a, b *inspect.Task) int { return cmp.Or(sorts[ch.sort](a, b), cmp.Compare(a.ID, b.ID)) })
		}
		if ch.limit > 0 && ch.group == "" {
			l.Tasks = l.Tasks[:min(len(l.Tasks), ch.limit)]
		}
		l.Omitted += before - len(l.Tasks)
	}
}

// contains reports whether the text, in small letters, occurs in a task's row.
func contains(t *inspect.Task, text string) bool {
	for _, s := range []string{t.Name, t.State, t.Waiting, t.Func, "#" + strconv.FormatUint(t.ID, 10)} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

// writeGroups writes each loop with its groups of tasks, as writeTable writes tasks.
func (ch *choice) writeGroups(out *bufio.Writer, p *inspect.Program, width int) {
	writeLoops(out, p, func(l *inspect.Loop) {
		rows := [][]string{{"TASKS", "LONGEST", "TOTAL", "FIRST", strings.ToUpper(ch.group)}}
		groups := l.Groups(inspect.GroupBy(ch.group))
		for i, g := range groups {
			if ch.limit > 0 && i == ch.limit {
				rows = append(rows, []string{"...", "", "", "", plural(len(groups)-i, "more group")})
				break
			}
			longest, total := "-", "-"
			if g.Longest > 0 {
				longest, total = short(g.Longest), short(g.Total)
			}
			rows = append(rows, []string{count(g.Tasks), longest, total, fmt.Sprintf("#%d %s", g.First.ID, g.First.Name), g.Key})
		}
		writeRows(out, rows, []int{0, 1, 2}, width)
	})
}

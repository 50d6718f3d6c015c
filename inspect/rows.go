package inspect

// The two tables of the page: groups of tasks, and the tasks of one
// group or all. Each is sorted by one column, whose heading is a link.

import (
	"cmp"
	"hash/fnv"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A row is a task with its loop.
type row struct {
	*Task
	Loop *Loop
}

// A bunch is the tasks of all loops that wait for the same kind of thing in the same
// function.
type bunch struct {
	Wait, Func string
	Key        string // the same in each snapshot
	Tasks      int
	Longest    time.Duration // of their waits
	Busy       time.Duration // of all of them
	Open       bool
	Link       template.URL // opens or closes it
}

// An order is the key of a column, with a minus sign before it if the largest comes
// first.
type order string

// A column is one by which rows can be sorted.
type column[T any] struct {
	key, title string
	number     bool // to the right, and the largest comes first
	compare    func(a, b T) int
}

type columns[T any] []column[T]

// order returns the order that an address asks for, and another if there is no such
// column.
func (cs columns[T]) order(asked string, otherwise order) order {
	for _, c := range cs {
		if c.key == strings.TrimPrefix(asked, "-") {
			return order(asked)
		}
	}
	return otherwise
}

// sort sorts rows. Those that are equal keep their order.
func (cs columns[T]) sort(rows []T, by order) {
	key, down := strings.CutPrefix(string(by), "-")
	for _, c := range cs {
		if c.key == key {
			slices.SortStableFunc(rows, func(a, b T) int {
				if down {
					return c.compare(b, a)
				}
				return c.compare(a, b)
			})
		}
	}
}

// A heading is what the page has above a column.
type heading struct {
	Title  string
	Number bool
	Sorted string // ascending or descending; "" if by another column
	Link   template.URL
}

// headings returns those of the columns. The function returns the address that sorts.
func (cs columns[T]) headings(by order, link func(order) template.URL) []heading {
	var out []heading
	for _, c := range cs {
		h, next := heading{Title: c.title, Number: c.number}, order(c.key)
		if c.number {
			next = "-" + next
		}
		switch by {
		case order(c.key):
			h.Sorted, next = "ascending", order("-"+c.key)
		case order("-" + c.key):
			h.Sorted, next = "descending", order(c.key)
		}
		h.Link = link(next)
		out = append(out, h)
	}
	return out
}

var groupColumns = columns[bunch]{
	{"tasks", "tasks", true, func(a, b bunch) int { return cmp.Compare(a.Tasks, b.Tasks) }},
	{"waits", "wait for", false, func(a, b bunch) int { return cmp.Compare(a.Wait, b.Wait) }},
	{"longest", "longest", true, func(a, b bunch) int { return cmp.Compare(a.Longest, b.Longest) }},
	{"busy", "busy", true, func(a, b bunch) int { return cmp.Compare(a.Busy, b.Busy) }},
	{"func", "function", false, func(a, b bunch) int { return cmp.Compare(a.Func, b.Func) }},
}

var taskColumns = columns[row]{
	{"id", "#", true, func(a, b row) int { return cmp.Compare(a.ID, b.ID) }},
	{"loop", "loop", false, func(a, b row) int { return cmp.Compare(a.Loop.Name, b.Loop.Name) }},
	{"name", "name", false, func(a, b row) int { return cmp.Compare(a.Name, b.Name) }},
	{"state", "state", false, func(a, b row) int { return cmp.Compare(a.State, b.State) }},
	{"waits", "waits for", false, func(a, b row) int { return cmp.Compare(a.Waiting, b.Waiting) }},
	{"since", "since", true, func(a, b row) int { return cmp.Compare(a.Since, b.Since) }},
	{"age", "age", true, func(a, b row) int { return cmp.Compare(a.Age, b.Age) }},
	{"busy", "busy", true, func(a, b row) int { return cmp.Compare(a.Busy, b.Busy) }},
	{"switches", "switches", true, func(a, b row) int { return cmp.Compare(a.Switches, b.Switches) }},
	{"func", "function", false, func(a, b row) int { return cmp.Compare(a.Func, b.Func) }},
}

// A groupTable is the table of groups.
type groupTable struct {
	Headings []heading
	Rows     []bunch
	More     int // groups for which there is no room
}

func newGroupTable(tasks []row, c pageChoice) groupTable {
	index := make(map[[2]string]int)
	var all []bunch
	for _, t := range tasks {
		of := groupOf(t.Task)
		i, ok := index[of]
		if !ok {
			i = len(all)
			index[of] = i
			all = append(all, bunch{Wait: of[0], Func: of[1]})
		}
		g := &all[i]
		g.Tasks++
		g.Longest, g.Busy = max(g.Longest, t.Since), g.Busy+t.Busy
	}
	groupColumns.sort(all, c.groups)
	sorted := c
	table := groupTable{Headings: groupColumns.headings(c.groups, func(by order) template.URL {
		sorted.groups = by
		return sorted.link()
	})}
	room := space(groupBytes)
	for i, g := range all {
		g.Key = groupKey([2]string{g.Wait, g.Func})
		to := c
		if g.Open, to.open, to.from = g.Key == c.open, g.Key, 0; g.Open {
			to.open = ""
		}
		g.Link, g.Wait, g.Func = to.link(), clip(g.Wait), clip(g.Func)
		if len(table.Rows) == mostGroups || !room.take(150, string(g.Link), g.Wait, g.Func) {
			table.More = len(all) - i
			break
		}
		table.Rows = append(table.Rows, g)
	}
	return table
}

// groupKey returns a short name for a group, for addresses.
func groupKey(group [2]string) string {
	h := fnv.New64a()
	// A Hash does not fail.
	_, _ = io.WriteString(h, group[0]+"\x00"+group[1])
	return strconv.FormatUint(h.Sum64(), 16)
}

// A taskTable is the table of the tasks of one group, or of all.
type taskTable struct {
	Shown    bool
	All      bool
	InRow    bool // of the open group
	Headings []heading
	Rows     []row
	Of       int // tasks that could be shown
	First    int // the number of the first row, from 1
	AllLink  template.URL
	Before   template.URL
	After    template.URL
}

func newTaskTable(tasks []row, c pageChoice) taskTable {
	all, of := c, tasks
	all.open, all.from = "all", 0
	table := taskTable{AllLink: all.link(), All: c.open == "all" || c.open == "" && len(tasks) <= fewTasks}
	if table.Shown = table.All || c.open != ""; !table.Shown {
		return table
	}
	if !table.All {
		of = nil
		for _, t := range tasks {
			if groupKey(groupOf(t.Task)) == c.open {
				of = append(of, t)
			}
		}
	}
	taskColumns.sort(of, c.tasks)
	sorted := c
	table.Headings = taskColumns.headings(c.tasks, func(by order) template.URL {
		sorted.tasks, sorted.from = by, 0
		return sorted.link()
	})
	table.Of = len(of)
	from := min(c.from, max(0, len(of)-1))
	table.First = from + 1
	room := space(taskBytes)
	for _, t := range of[from:] {
		shown, l := *t.Task, *t.Loop
		shown.Name, shown.Waiting, shown.Func, l.Name = clip(t.Name), clip(t.Waiting), clip(t.Func), clip(l.Name)
		if len(table.Rows) == c.limit || !room.take(210, digits(t.ID), digits(t.ID), digits(l.ID), digits(t.Switches), shown.Name, shown.Waiting, shown.Func, l.Name) {
			break
		}
		table.Rows = append(table.Rows, row{&shown, &l})
	}
	if next := from + len(table.Rows); next < len(of) {
		after := c
		after.from = next
		table.After = after.link()
	}
	if from > 0 {
		before := c
		before.from = max(0, from-c.limit)
		table.Before = before.link()
	}
	return table
}

// Last is the number of the last row.
func (t taskTable) Last() int { return t.First + len(t.Rows) - 1 }

package main

// An outline is the tree of a loop's tasks in which those that are alike
// share a line: a server with 1,000 connections is three lines long.

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rondo-go/rondo"
)

// A branch stands for the tasks that run one function, started by those that the
// branch above stands for.
type branch struct {
	tasks    []rondo.TaskInfo
	branches []*branch
}

// outline puts tasks, which are in the order of their start, under those that
// started them. A task whose parent is not among them is at the top.
func outline(tasks []rondo.TaskInfo) []*branch {
	children := make(map[uint64][]rondo.TaskInfo)
	known := make(map[uint64]bool)
	for _, t := range tasks {
		known[t.ID] = true
	}
	for _, t := range tasks {
		parent := t.Parent
		if !known[parent] {
			parent = 0
		}
		children[parent] = append(children[parent], t)
	}
	return grow(children[0], children)
}

func grow(tasks []rondo.TaskInfo, children map[uint64][]rondo.TaskInfo) []*branch {
	var branches []*branch
	for _, t := range tasks {
		i := slices.IndexFunc(branches, func(b *branch) bool { return b.tasks[0].Func == t.Func })
		if i < 0 {
			i = len(branches)
			branches = append(branches, new(branch))
		}
		branches[i].tasks = append(branches[i].tasks, t)
	}
	for _, b := range branches {
		var below []rondo.TaskInfo
		for _, t := range b.tasks {
			below = append(below, children[t.ID]...)
		}
		b.branches = grow(below, children)
	}
	return branches
}

// name returns the task's name, or how many there are and what their names have in
// common.
func (b *branch) name() string {
	if len(b.tasks) == 1 {
		return b.tasks[0].Name
	}
	stem := b.tasks[0].Name
	for _, t := range b.tasks[1:] {
		stem = shared(stem, t.Name)
	}
	stem = strings.TrimRightFunc(stem, func(r rune) bool { return !unicode.IsLetter(r) })
	if stem == "" {
		stem = "task"
	}
	return count(len(b.tasks)) + " × " + stem
}

// shared returns what two names begin with.
func shared(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// doing says what the tasks do, and if that differs, how many do each; what most
// do comes first.
func (b *branch) doing() string {
	type group struct {
		what string
		n    int
	}
	var groups []group
	for _, t := range b.tasks {
		what := t.State
		if t.Waiting != "" {
			what = t.Waiting
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.what == what })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{what: what})
		}
		groups[i].n++
	}
	if len(groups) == 1 {
		return groups[0].what
	}
	slices.SortStableFunc(groups, func(a, b group) int { return b.n - a.n })
	parts := make([]string, len(groups))
	for i, g := range groups {
		parts[i] = fmt.Sprintf("%s %s", count(g.n), g.what)
	}
	return strings.Join(parts, ", ")
}

// draw returns the lines of the tree, with what the tasks do in one column.
func draw(branches []*branch) []string {
	var rows [][]string
	var walk func(branches []*branch, indent string)
	walk = func(branches []*branch, indent string) {
		for i, b := range branches {
			knot, below := "├─ ", "│  "
			if i == len(branches)-1 {
				knot, below = "└─ ", "   "
			}
			rows = append(rows, []string{indent + knot + b.name(), b.doing()})
			walk(b.branches, indent+below)
		}
	}
	for _, b := range branches {
		rows = append(rows, []string{b.name(), b.doing()})
		walk(b.branches, "")
	}
	return align(rows)
}

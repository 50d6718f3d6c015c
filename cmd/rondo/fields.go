package main

// The fields of a task that a row of ps can show.

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// A field is something that is shown of a task.
type field struct {
	name   string // in the flag
	title  string
	number bool // it stands on the right
	value  func(t *inspect.Task) string
}

// fields are all of them, those first that are shown if nothing else is asked for.
var fields = []field{
	{"id", "#", true, func(t *inspect.Task) string { return strconv.FormatUint(t.ID, 10) }},
	{"name", "NAME", false, func(t *inspect.Task) string { return t.Name }},
	{"state", "STATE", false, func(t *inspect.Task) string {
		if t.Cancelled {
			return t.State + ", cancelled"
		}
		return t.State
	}},
	{"waits", "WAITS FOR", false, func(t *inspect.Task) string {
		if t.Moved {
			return "(ran meanwhile)"
		}
		return dash(t.Waiting)
	}},
	{"since", "SINCE", true, func(t *inspect.Task) string { return known(t.Since) }},
	{"age", "AGE", true, func(t *inspect.Task) string { return short(t.Age) }},
	{"switches", "SWITCHES", true, func(t *inspect.Task) string { return strconv.FormatUint(t.Switches, 10) }},
	{"func", "FUNCTION", false, func(t *inspect.Task) string { return shortFunc(t.Func) }},
	{"busy", "BUSY", true, func(t *inspect.Task) string { return known(t.Busy) }},
	{"longest", "LONGEST", true, func(t *inspect.Task) string { return known(t.LongestStep) }},
	{"slow", "SLOW", true, func(t *inspect.Task) string { return strconv.Itoa(t.SlowSteps) }},
	{"waker", "WOKEN BY", false, func(t *inspect.Task) string { return numbered(t.WokenBy) }},
	{"parent", "PARENT", false, func(t *inspect.Task) string { return numbered(t.Parent) }},
	{"site", "STARTED BY", false, startedAt},
}

// usual is how many of them are shown if nothing else is asked for.
const usual = 8

// known writes a time, or a dash for none.
func known(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return short(d)
}

// startedAt writes the call that started a task.
func startedAt(t *inspect.Task) string {
	if t.Site == nil {
		return "-"
	}
	return fmt.Sprintf("%s %s:%d", shortFunc(t.Site.Func), path.Base(t.Site.File), t.Site.Line)
}

// numbered writes the number of a task, or a dash for none.
func numbered(id uint64) string {
	if id == 0 {
		return "-"
	}
	return "#" + strconv.FormatUint(id, 10)
}

// fieldsNamed returns the fields that a flag names, with commas between them.
func fieldsNamed(text string) ([]field, error) {
	var out []field
	for _, name := range strings.Split(text, ",") {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			var all []string
			for _, f := range fields {
				all = append(all, f.name)
			}
			return nil, usagef("--columns takes names with commas between them, of %s; not %q", strings.Join(all, ", "), name)
		}
		out = append(out, fields[i])
	}
	return out, nil
}

// cellsOf returns the titles of fields and the rows of tasks, and which columns are
// numbers.
func cellsOf(fs []field, tasks []*inspect.Task) (rows [][]string, numbers []int) {
	rows = append(rows, nil)
	for i, f := range fs {
		rows[0] = append(rows[0], f.title)
		if f.number {
			numbers = append(numbers, i)
		}
	}
	for _, t := range tasks {
		row := make([]string, len(fs))
		for i, f := range fs {
			row[i] = f.value(t)
		}
		rows = append(rows, row)
	}
	return rows, numbers
}

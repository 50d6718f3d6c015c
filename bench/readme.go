package main

// This file puts the tables into the README files: everything into bench/README.md,
// six lines into that of the project.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// In a README a table is between these two lines.
const (
	opening = "<!-- table -->\n"
	closing = "<!-- /table -->\n"
)

// front is the table of the project's README. A line is about the part of Rondo
// called mine, and about the results whose What begins with what. own is the rival
// that stands for Go without Rondo.
var front = []struct{ shown, row, what, mine, own string }{
	{"task switch, 1,000 tasks, one CPU", "one-switch-1000", "", "", goroutines},
	{"100,000 tasks in a group, one CPU", "one-group", "", "", goroutines},
	{"echo request, 50 connections: CPU time", "echo-50", "", partTasks, perGoroutine},
	{"echo request, 1,000 connections: CPU time", "echo-1000", "", partTasks, perGoroutine},
	{"echo at 25,000 requests/s: p99 latency", "open", "p99 of", partTasks, perGoroutine},
	{"idle connection: memory", "idle", "", partTasks, perGoroutine},
}

// summary prints the six lines: Rondo, Go without it, and the cheapest rival.
func (d *record) summary() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| what | Rondo | Go without it | the cheapest rival | measured by |")
	fmt.Fprintln(&b, "| --- | ---: | --- | --- | --- |")
	shown := new(record)
	for _, line := range front {
		m := d.row(line.row)
		if m == nil {
			continue
		}
		i := slices.IndexFunc(m.Results, func(f result) bool {
			return strings.HasPrefix(f.What, line.what) && f.Mine == line.mine && f.Rival == line.own
		})
		if i < 0 {
			continue
		}
		shown.Rows = append(shown.Rows, m)
		own := &m.Results[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `go run ./bench -run '^%s$'` |\n",
			line.shown, quantity(own.Own, own.Unit), own.cell(), m.cheapest(own.described()).cell(), line.row)
	}
	fmt.Fprintf(&b, "\n%s", shown.origin())
	return b.String()
}

// cell is a rival with its cost and what Rondo costs of it.
func (f *result) cell() string {
	return fmt.Sprintf("%s: %s, **%.2fx**", f.Rival, quantity(f.Theirs, f.Unit), f.ratio())
}

// publish writes the record, its table and the six lines.
func publish(root string, d *record) error {
	if err := d.save(root); err != nil {
		return err
	}
	if err := replaceTable(filepath.Join(root, "bench", "README.md"), d.markdown()); err != nil {
		return err
	}
	return replaceTable(filepath.Join(root, "README.md"), d.summary())
}

// projectRoot returns the nearest folder, from this one upwards, that contains
// bench/README.md.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "bench", "README.md")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("-write and -plot: no bench/README.md in this folder or above; run it inside the project")
		}
		dir = up
	}
}

var errNoMarkers = errors.New("no lines " + strings.TrimSpace(opening) + " and " + strings.TrimSpace(closing))

// replaceTable puts text between the markers of the file.
func replaceTable(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(old, []byte(opening))
	_, after, ended := bytes.Cut(rest, []byte(closing))
	if !found || !ended {
		return fmt.Errorf("%s: %w", path, errNoMarkers)
	}
	written := slices.Concat(before, []byte(opening), []byte(text), []byte(closing), after)
	return os.WriteFile(path, written, 0o644)
}

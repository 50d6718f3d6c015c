package main

// The tables go into the documents: everything into bench/README.md, some
// lines into that of the project, and some into docs/WHY-NOT-GOROUTINES.md and
// docs/COMPARISON.md.

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

// A summed is a line about the part of Rondo called mine, and about the results whose
// What begins with what. own is the rival that stands for Go without Rondo.
type summed struct{ shown, row, what, mine, own string }

// why is the table of docs/WHY-NOT-GOROUTINES.md.
var why = []summed{
	{"median latency, 25,000 requests/s", "open", "p50 of", partTasks, perGoroutine},
	{"median latency beside a task that computes 200 µs at a time", "computing", "p50 of", partTasks, perGoroutine},
	{"CPU time of a request, 1,000 connections", "echo-1000", "", partTasks, perGoroutine},
	{"CPU time of an HTTP request, 64 connections", "httpserver-64", "", ownServer, netHTTP},
	{"memory of an idle connection, a task each", "idle", "", partTasks, perGoroutine},
	{"memory of an idle connection, Session", "idle", "", partSession, perGoroutine},
	{"100,000 tasks in a group, on one CPU", "one-group", "", "", goroutines},
	{"1,000,000 tasks asleep: memory", "million", "1,000,000 tasks asleep at once: memory", "", goroutines},
	{"a call that blocks: Offload there and back", "offload", "", "", ""},
}

// front is the table of the project's README. A row stands there if the program in second finds
// the same ratio within a tenth; it does not measure memory.
var front = []summed{
	{"echo request, 50 connections: CPU time", "echo-50", "", partTasks, perGoroutine},
	{"idle connection: memory", "idle", "", partTasks, perGoroutine},
	{"HTTP GET, 64 connections: CPU time", "httpserver-64", "", ownServer, netHTTP},
	{"idle HTTP connection: memory", "httpserver-idle", "", ownServer, netHTTP},
}

// summary prints lines: Rondo, Go without it, and the cheapest rival.
func (d *record) summary(lines []summed) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| what | Rondo | Go without it | the cheapest rival | measured by |")
	fmt.Fprintln(&b, "| --- | ---: | --- | --- | --- |")
	shown := new(record)
	for _, line := range lines {
		m := d.row(line.row)
		if m == nil {
			continue
		}
		i := slices.IndexFunc(m.Results, func(f result) bool {
			return strings.HasPrefix(f.What, line.what) && f.Mine == line.mine && (f.Rival == line.own || line.own == "")
		})
		if i < 0 {
			continue
		}
		if !slices.Contains(shown.Rows, m) {
			shown.Rows = append(shown.Rows, m)
		}
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

// rivals is the table of docs/COMPARISON.md: a line for each server, Rondo first.
func (d *record) rivals() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| server | CPU time of an echo request, 1,000 connections | median latency, 25,000 requests/s | memory of an idle connection |")
	fmt.Fprintln(&b, "| --- | ---: | ---: | ---: |")
	shown, own, theirs := new(record), "", make(map[string]string)
	var names []string
	for _, c := range []struct{ row, what string }{{"echo-1000", ""}, {"open", "p50 of"}, {"idle", ""}} {
		m := d.row(c.row)
		if m == nil {
			continue
		}
		shown.Rows = append(shown.Rows, m)
		cells := make(map[string]string)
		for i := range m.Results {
			f := &m.Results[i]
			if f.Mine != partTasks || !strings.HasPrefix(f.What, c.what) {
				continue
			}
			if len(cells) == 0 {
				own += " | " + quantity(f.Own, f.Unit)
			}
			cells[f.Rival] = quantity(f.Theirs, f.Unit)
			if !slices.Contains(names, f.Rival) {
				names = append(names, f.Rival)
			}
		}
		for _, name := range names {
			cell := cells[name]
			if cell == "" {
				cell = "–"
			}
			theirs[name] += " | " + cell
		}
	}
	fmt.Fprintf(&b, "| Rondo, a task each%s |\n", own)
	for _, name := range names {
		fmt.Fprintf(&b, "| %s%s |\n", name, theirs[name])
	}
	fmt.Fprintf(&b, "\n%s", shown.origin())
	return b.String()
}

// tables returns the text of the table of each document, by its path.
func (d *record) tables() map[string]string {
	return map[string]string{
		"bench/README.md":            d.markdown(),
		"README.md":                  d.summary(front),
		"docs/WHY-NOT-GOROUTINES.md": d.summary(why),
		"docs/COMPARISON.md":         d.rivals(),
	}
}

// publish writes the record and the tables.
func publish(root string, d *record) error {
	if err := d.save(root); err != nil {
		return err
	}
	for path, text := range d.tables() {
		if err := replaceTable(filepath.Join(root, filepath.FromSlash(path)), text); err != nil {
			return err
		}
	}
	return nil
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

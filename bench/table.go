package main

// This file prints results as a Markdown table, and writes it to the README
// files.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A table has the results of one run of the program.
type table struct {
	when    time.Time
	rounds  int
	results []result
	notes   []string // a sentence for each row that was skipped
}

func newTable(o options) *table { return &table{when: time.Now(), rounds: o.rounds} }

func (t *table) markdown() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| what | Rondo | rival | | ratio (spread) | budget | met |")
	fmt.Fprintln(&b, "| --- | ---: | --- | ---: | ---: | ---: | --- |")
	for _, f := range t.results {
		met := "yes"
		if f.budget == 0 {
			met = ""
		} else if !f.met() {
			met = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | **%.2fx** (%.2f–%.2f) | %s | %s |\n",
			f.what, f.own(), f.rival, quantity(f.theirs, f.unit),
			f.ratio(), slices.Min(f.ratios), slices.Max(f.ratios), f.limit(), met)
	}
	fmt.Fprintln(&b)
	for _, n := range t.notes {
		fmt.Fprintln(&b, n)
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "%s, %s/%s, %d CPUs (%s), %d rounds a side, %s.\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(),
		t.rounds, t.when.Format("2006-01-02"))
	return b.String()
}

func (f *result) own() string {
	if f.allowed == unlimited {
		return quantity(f.mine, f.unit)
	}
	return fmt.Sprintf("%s, %d allocs", quantity(f.mine, f.unit), f.allocs)
}

func (f *result) limit() string {
	if f.budget == 0 {
		return "none"
	}
	if f.allowed == unlimited {
		return fmt.Sprintf("%.2fx", f.budget)
	}
	return fmt.Sprintf("%.2fx, %d allocs", f.budget, f.allowed)
}

// quantity formats v in a unit that keeps it short.
func quantity(v float64, unit string) string {
	switch {
	case unit == "ns" && v >= 1e6:
		return fmt.Sprintf("%.1f ms", v/1e6)
	case unit == "ns" && v >= 1e3:
		return fmt.Sprintf("%.2f µs", v/1e3)
	case unit == "B" && v >= 1e3:
		return fmt.Sprintf("%.2f kB", v/1e3)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// processor returns the name of the machine's CPU, if the system has it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// In a README the table is between these two lines.
const (
	opening = "<!-- table -->\n"
	closing = "<!-- /table -->\n"
)

// publish writes the table to bench/README.md, and to the project's README.md if
// that has the markers.
func publish(text string) error {
	root, err := projectRoot()
	if err != nil {
		return err
	}
	if err := replaceTable(filepath.Join(root, "bench", "README.md"), text); err != nil {
		return err
	}
	err = replaceTable(filepath.Join(root, "README.md"), text)
	if errors.Is(err, errNoMarkers) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
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
			return "", errors.New("-write: no bench/README.md in this folder or above; run it inside the project")
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

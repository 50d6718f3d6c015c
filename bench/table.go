package main

// This file prints findings as a Markdown table, and puts it where README files
// keep it.

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

// A table is what one run of the command has found.
type table struct {
	when     time.Time
	rounds   int
	findings []finding
	notes    []string // a sentence for each row that was left out
}

func newTable(o options) *table { return &table{when: time.Now(), rounds: o.rounds} }

func (t *table) markdown() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| what | Rondo | rival | | ratio (spread) | budget | met |")
	fmt.Fprintln(&b, "| --- | ---: | --- | ---: | ---: | ---: | --- |")
	for _, f := range t.findings {
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

func (f *finding) own() string {
	if f.allowed == unlimited {
		return quantity(f.mine, f.unit)
	}
	return fmt.Sprintf("%s, %d allocs", quantity(f.mine, f.unit), f.allocs)
}

func (f *finding) limit() string {
	if f.budget == 0 {
		return "none"
	}
	if f.allowed == unlimited {
		return fmt.Sprintf("%.2fx", f.budget)
	}
	return fmt.Sprintf("%.2fx, %d allocs", f.budget, f.allowed)
}

// quantity gives v in a unit in which it is short to read.
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

// processor names the machine's processor, as far as the system says.
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

// The table stands in a README between these.
const (
	opening = "<!-- table -->\n"
	closing = "<!-- /table -->\n"
)

// publish puts the table into bench/README.md, and into the project's README.md
// if that has a place for it.
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

// projectRoot looks for the folder above that has bench/README.md in it.
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

// replaceTable puts text between the markers in the file.
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

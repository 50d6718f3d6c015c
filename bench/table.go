package main

// A record as Markdown: a table for each section, then where
// Rondo is not first and why, then what was missing.

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

func (d *record) markdown() string {
	var b strings.Builder
	for _, s := range sections {
		d.section(&b, s)
	}
	d.notFirst(&b)
	for _, sentence := range d.missing() {
		fmt.Fprintf(&b, "%s\n\n", sentence)
	}
	b.WriteString(d.origin())
	return b.String()
}

// lines returns the results of a section, and the name of the row of each.
func (d *record) lines(s section) (lines []result, names []string) {
	for _, m := range d.Rows {
		for _, f := range m.Results {
			if f.Section == s || f.Section == "" && m.Section == s {
				lines, names = append(lines, f), append(names, m.Name)
			}
		}
	}
	return lines, names
}

// section prints the table of one section.
func (d *record) section(b *strings.Builder, s section) {
	lines, names := d.lines(s)
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "### %s\n\n", s)
	if s.manyRivals() {
		pivot(b, lines, names)
	} else {
		list(b, lines, names)
	}
	fmt.Fprintln(b)
}

// list prints a line for each result. The last column is the name of the row.
func list(b *strings.Builder, lines []result, names []string) {
	fmt.Fprintln(b, "| what | Rondo | rival | | ratio (spread) | budget | met | `-run` |")
	fmt.Fprintln(b, "| --- | ---: | --- | ---: | ---: | ---: | --- | --- |")
	last := ""
	for i, f := range lines {
		// Only the first of several lines about one thing names it.
		what, own := f.described(), f.own()
		if what == last {
			what, own = "", ""
		} else {
			last = what
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n",
			what, own, f.Rival, quantity(f.Theirs, f.Unit), f.spread(), f.budget(), f.verdict(), names[i])
	}
}

// pivot prints a line for each thing measured and a column for each rival.
func pivot(b *strings.Builder, lines []result, names []string) {
	var rivals, things []string
	cells := make(map[[2]string]*result)
	row := make(map[string]string)
	for i := range lines {
		f := &lines[i]
		what := f.described()
		if !slices.Contains(rivals, f.Rival) {
			rivals = append(rivals, f.Rival)
		}
		if row[what] == "" {
			things, row[what] = append(things, what), names[i]
		}
		cells[[2]string{what, f.Rival}] = f
	}
	fmt.Fprintf(b, "| what | Rondo | %s | `-run` |\n", strings.Join(rivals, " | "))
	fmt.Fprintf(b, "| --- | ---: |%s --- |\n", strings.Repeat(" ---: |", len(rivals)))
	for _, what := range things {
		own, others := "", ""
		for _, rival := range rivals {
			f := cells[[2]string{what, rival}]
			if f == nil {
				others += " – |"
				continue
			}
			own = quantity(f.Own, f.Unit)
			if f.Limit != 0 {
				own = fmt.Sprintf("%s<br>limit %s: %s", own, quantity(f.Limit, f.Unit), f.verdict())
			}
			others += fmt.Sprintf(" %s<br>%s", quantity(f.Theirs, f.Unit), f.spread())
			if f.Budget != 0 {
				others += fmt.Sprintf("<br>budget %.2fx: %s", f.Budget, f.verdict())
			}
			others += " |"
		}
		fmt.Fprintf(b, "| %s | %s |%s %s |\n", what, own, others, row[what])
	}
}

func (f *result) described() string {
	if f.Mine == "" {
		return f.What
	}
	return f.What + ": " + f.Mine
}

// notFirst prints the rows in which a rival costs less, with the cheapest rival of
// each and the reason, once for rows that follow each other and have the same.
func (d *record) notFirst(b *strings.Builder) {
	var items []string
	why := ""
	for _, m := range d.Rows {
		second := m.second()
		if len(second) == 0 {
			continue
		}
		if m.Why != why && why != "" {
			items = append(items, "\n  Why: "+why+"\n")
		}
		items, why = append(items, second...), m.Why
	}
	if why != "" {
		items = append(items, "\n  Why: "+why+"\n")
	}
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "### Where Rondo is not first\n\n%s\n\n", strings.Join(items, "\n"))
}

// second returns a line for each thing of the row for which a rival costs less.
func (m *measured) second() (lines []string) {
	var done []string
	for _, f := range m.Results {
		what := f.described()
		if slices.Contains(done, what) {
			continue
		}
		done = append(done, what)
		if best := m.cheapest(what); !best.first() {
			lines = append(lines, fmt.Sprintf("* %s: %s is first. Rondo costs %.2fx of it.", what, best.Rival, best.ratio()))
		}
	}
	return lines
}

// cheapest returns the result with the largest ratio of those about one thing.
func (m *measured) cheapest(what string) *result {
	var worst *result
	for i := range m.Results {
		f := &m.Results[i]
		if f.described() == what && (worst == nil || f.ratio() > worst.ratio()) {
			worst = f
		}
	}
	return worst
}

// origin says where, when and with how many rounds the rows were measured.
func (d *record) origin() string {
	var lines []string
	names := make(map[string][]string)
	for _, m := range d.Rows {
		line := fmt.Sprintf("%s, %d rounds a side, %s.", m.Machine, m.Rounds, m.When)
		if names[line] == nil {
			lines = append(lines, line)
		}
		names[line] = append(names[line], m.Name)
	}
	if len(lines) == 1 {
		return lines[0] + "\n"
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "* %s: %s\n", strings.Join(names[line], ", "), line)
	}
	return b.String()
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

package main

// Goroutines of a program are rows in ps: those that do the same are one row. The screen of top
// shows them with their stacks, as tree does.

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/rondo-go/rondo/inspect"
)

// writeGoroutines writes the goroutines that run no task in columns, those that contain a text,
// in small letters, and so many rows at most; 0 for all.
func writeGoroutines(out *bufio.Writer, p *inspect.Program, text string, limit, width int) {
	if p.NoGoroutines != "" && len(p.Goroutines) == 0 {
		fmt.Fprintln(out, "Goroutines are missing: "+p.NoGoroutines)
		return
	}
	groups := p.GoroutineGroups(false)
	rows := [][]string{{"GOROUTINES", "FIRST", "STATE", "FUNC", "AT"}}
	left := 0
	for _, g := range groups {
		row := goroutineRow(g)
		if !strings.Contains(strings.ToLower(strings.Join(row, " ")), text) {
			continue
		}
		if limit > 0 && len(rows) > limit {
			left++
			continue
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintln(out)
	writeRows(out, rows, []int{0, 1}, width)
	if left > 0 {
		fmt.Fprintf(out, "and %s\n", plural(left, "more row"))
	}
	if p.MoreGoroutines > 0 {
		why := ""
		if p.NoGoroutines != "" {
			why = ": " + p.NoGoroutines
		}
		fmt.Fprintf(out, "and %s that were not read%s\n", plural(p.MoreGoroutines, "more goroutine"), why)
	}
}

// goroutineRow returns the cells of a group of goroutines.
func goroutineRow(g inspect.GoroutineGroup) []string {
	state, at := g.First.State, "-"
	if g.First.Loop != "" {
		state += ", runs " + g.First.Loop
	}
	if f := g.First.Place(); f != nil {
		at = fmt.Sprintf("%s %s:%d", shortFunc(f.Func), f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
	}
	return []string{count(g.Goroutines), fmt.Sprint(g.First.ID), state, dash(shortFunc(g.First.Func)), at}
}

// listBeside makes the lines about goroutines, if they are shown.
func (s *screen) listBeside() {
	s.lines = nil
	if !s.beside || s.now == nil {
		return
	}
	var text strings.Builder
	_ = s.now.picture.WriteGoroutines(&text, s.full) // a Builder never fails
	if s.lines = strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"); text.Len() > 0 {
		return
	}
	switch {
	case s.history.back > 0:
		s.lines = []string{"the goroutines were not read at that time"}
	case s.taking || s.again:
		s.lines = []string{"looking ..."}
	default:
		s.lines = []string{"no goroutine but those that run tasks"}
	}
}

// besideTasks is the lines about goroutines that are in sight.
func (s *screen) besideTasks() []string {
	var lines []string
	for _, line := range s.lines[min(s.scroll, len(s.lines)):min(len(s.lines), s.scroll+s.room())] {
		lines = append(lines, cut(line, s.width))
	}
	return lines
}

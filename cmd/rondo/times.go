package main

// The times of steps on the screen of top: for each kind of task how long its steps took, and how
// long it was ready before, as figures and as a histogram.

import (
	"fmt"
	"slices"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

var timesColumns = []column{
	{title: "LOOP", from: 100}, {title: "TASKS OF"}, {title: "STEPS", width: 7, right: true, from: 60},
	{title: "50%", width: 6, right: true, from: 54}, {title: "99%", width: 6, right: true, from: 24}, {title: "MOST", width: 6, right: true, from: 40},
	{title: "LENGTH OF STEPS", width: barWidth, from: 110},
	{title: "READY50", width: 7, right: true, from: 72}, {title: "READY99", width: 7, right: true, from: 32}, {title: "MOST", width: 6, right: true, from: 48},
	{title: "READY BEFORE THAT", width: barWidth, from: 134}, {title: "READY LONGEST", from: 80},
}

// timesTable is the times of all loops, the total of each loop before those of its kinds.
func (s *screen) timesTable() []string {
	if s.now == nil {
		return nil
	}
	var rows [][]string
	for _, g := range s.now.loops {
		for _, t := range g.Times {
			kind := t.Kind
			if kind == "" {
				kind = "all of " + g.Name
			}
			rows = append(rows, []string{
				g.Name, kind, count(t.Steps.Count), stretch(t.Steps.Quantile(0.5)), stretch(t.Steps.Quantile(0.99)), stretch(t.Steps.Max), bars(t.Steps),
				stretch(t.Ready.Quantile(0.5)), stretch(t.Ready.Quantile(0.99)), stretch(t.Ready.Max), bars(t.Ready), meanwhile(t.Worst),
			})
		}
	}
	if len(rows) == 0 {
		text := "no step in the last 10 s, or no flight record of it"
		if s.history.back > 0 {
			text = "the times of steps were not read at that time"
		}
		return []string{cut(text, s.width)}
	}
	lines := lay(timesColumns, rows[:min(len(rows), max(0, s.room()))], s.width)
	lines[0] = s.bold(lines[0])
	return lines
}

// meanwhile says who ran while a task was ready.
func meanwhile(w *inspect.ReadyWait) string {
	switch {
	case w == nil:
		return ""
	case w.Longest == "":
		return w.Task
	case w.Ahead == 1:
		return fmt.Sprintf("%s: %s ran for %s", w.Task, w.Longest, stretch(w.LongestFor))
	}
	return fmt.Sprintf("%s: %s before it, %s for %s", w.Task, plural(w.Ahead, "step"), w.Longest, stretch(w.LongestFor))
}

// Bars of a histogram: the first is up to a microsecond, each of the others four times as much as
// the one before, and the last all above.
const barWidth = 17

// bars draws a histogram, the largest bar as high as the line.
func bars(h inspect.Histogram) string {
	var sums [barWidth]uint64
	for i, n := range h.Buckets {
		k := 0
		for bound := time.Microsecond; k < barWidth-1 && h.Bound(i) > bound; bound *= 4 {
			k++
		}
		sums[k] += n
	}
	most := slices.Max(sums[:])
	out := make([]rune, barWidth)
	for i, n := range sums {
		out[i] = ' '
		if n > 0 {
			out[i] = []rune("▁▂▃▄▅▆▇█")[min(7, 8*(n-1)/most)]
		}
	}
	return string(out)
}

package main

// Columns fit into the width of a terminal. Width is counted in the
// cells of a terminal: some characters take two, some none.

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// cells counts as the renderer of the live screen does.
const cells = ansi.WcWidth

// cut shortens a text to a width.
func cut(text string, width int) string {
	if width < 1 {
		return ""
	}
	return cells.Truncate(text, width, "…")
}

// tail shortens a text to a width and keeps its end.
func tail(text string, width int) string {
	over := cells.StringWidth(text) - width
	if over <= 0 || width < 1 {
		return cut(text, width)
	}
	// A character that takes two cells may leave one free.
	for n := over + 1; ; n++ {
		if short := "…" + cells.TruncateLeft(text, n, ""); cells.StringWidth(short) <= width {
			return short
		}
	}
}

// pad fills a text up to a width, or cuts it.
func pad(text string, width int, right bool) string {
	text = cut(text, width)
	blanks := strings.Repeat(" ", max(0, width-cells.StringWidth(text)))
	if right {
		return blanks + text
	}
	return text + blanks
}

// A column is one of a table on a terminal.
type column struct {
	title string
	width int  // 0: it takes what it needs of the room that is left
	right bool // numbers stand on the right
	from  int  // the least width of the terminal at which it is shown
}

// fit returns the widths of columns that need so much, on a terminal so wide; 0
// for one that is not shown. Between two that are shown one cell stays free.
func fit(cs []column, need []int, width int) []int {
	out := make([]int, len(cs))
	left := width + 1
	var open []int // those that take what they need, and have not got it
	for i, c := range cs {
		switch {
		case width < c.from:
		case c.width > 0:
			out[i] = c.width
			left -= c.width + 1
		default:
			open = append(open, i)
			left--
		}
	}
	// Those that need less than their share leave the rest to the others.
	for len(open) > 0 && left > 0 {
		share, before := max(1, left/len(open)), len(open)
		open = slices.DeleteFunc(open, func(i int) bool {
			if need[i] > share {
				return false
			}
			out[i] = need[i]
			left -= need[i]
			return true
		})
		if len(open) == before {
			for n, i := range open {
				out[i] = left / (len(open) - n)
				left -= out[i]
			}
			break
		}
	}
	return out
}

// lay writes rows of cells in columns, below their titles, on a terminal so wide.
func lay(cs []column, rows [][]string, width int) []string {
	need := make([]int, len(cs))
	titles := make([]string, len(cs))
	for i, c := range cs {
		titles[i] = c.title
		need[i] = cells.StringWidth(c.title)
		for _, r := range rows {
			need[i] = max(need[i], cells.StringWidth(r[i]))
		}
	}
	widths := fit(cs, need, width)
	lines := make([]string, 0, 1+len(rows))
	for _, r := range append([][]string{titles}, rows...) {
		var parts []string
		for i, text := range r {
			if widths[i] > 0 {
				parts = append(parts, pad(text, widths[i], cs[i].right))
			}
		}
		lines = append(lines, cut(strings.Join(parts, " "), width))
	}
	return lines
}

package main

// A table sets texts in columns.

import "strings"

// widest is how wide a cell may be that widens its column. One that is wider moves
// the rest of its own row only.
const widest = 60

// align returns a line for each row of cells, in which cells of one place begin in
// one column.
func align(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(widest, cells.StringWidth(cell)))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", max(0, widths[j]-cells.StringWidth(cell))+3))
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// toRight moves the texts of a column to its right, as numbers stand.
func toRight(rows [][]string, column int) {
	width := 0
	for _, row := range rows {
		width = max(width, cells.StringWidth(row[column]))
	}
	for _, row := range rows {
		row[column] = pad(row[column], width, true)
	}
}

// indented puts lines below each other, a little to the right.
func indented(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

package inspect

// The loops of a program side by side, a line for each, in the order of
// their names.

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WriteLoops writes a table of the loops, if there are several: their tasks and
// connections, and the share of the time in which they were busy. CONNS is a dash if the
// program's Rondo is too old to count them. Errors are those of w.
func (p *Program) WriteLoops(w io.Writer) error {
	if len(p.Loops) < 2 {
		return nil
	}
	rows := [][]string{{"LOOP", "TASKS", "CONNS", "BUSY", "READY", "TIMERS", "UP"}}
	for _, l := range p.Loops {
		rows = append(rows, []string{
			clip(l.Name), strconv.Itoa(len(l.Tasks) + l.Omitted), connected(l), share(l.Busy, l.Uptime),
			strconv.Itoa(l.Ready), strconv.Itoa(l.Timers), short(l.Uptime),
		})
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "   %*s", widths[1+i], cell)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

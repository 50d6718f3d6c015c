package inspect

// This file writes the loops of a program side by side, a line for each, in the order of
// their names.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sortLoops puts the loops in the order of their names, shard-2 before shard-10.
func (p *Picture) sortLoops() {
	slices.SortStableFunc(p.Loops, func(a, b *Loop) int {
		x, m := numbered(a.Name)
		y, n := numbered(b.Name)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(m, n), cmp.Compare(a.ID, b.ID))
	})
}

// numbered cuts the number off the end of a name.
func numbered(name string) (string, int) {
	rest := strings.TrimRight(name, "0123456789")
	n, _ := strconv.Atoi(name[len(rest):]) // one that is too large is the largest
	return rest, n
}

// connected writes how many connections a loop has; a dash if that is not known.
func (l *Loop) connected() string {
	if l.Conns == nil {
		return "-"
	}
	return strconv.Itoa(*l.Conns)
}

// connections is connected with the noun.
func (l *Loop) connections() string {
	if l.Conns == nil {
		return "- connections"
	}
	return count(*l.Conns, "connection")
}

// WriteLoops writes a table of the loops, if there are several: their tasks and
// connections, and the share of the time in which they were busy. CONNS is a dash if the
// program's Rondo is too old to count them. An error is that of w.
func (p *Picture) WriteLoops(w io.Writer) error {
	if len(p.Loops) < 2 {
		return nil
	}
	rows := [][]string{{"LOOP", "TASKS", "CONNS", "BUSY", "READY", "TIMERS", "UP"}}
	for _, l := range p.Loops {
		rows = append(rows, []string{
			clip(l.Name), strconv.Itoa(len(l.Tasks) + l.Omitted), l.connected(), share(l.Busy, l.Uptime),
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

package inspect

// This file writes what stands above the tasks: a line about the program and one about
// each loop, what holds it, what has held it before, and the rings of waits.

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

func (p *Picture) writeHead(w io.Writer) {
	tasks := 0
	for _, l := range p.Loops {
		tasks += len(l.Tasks)
	}
	what := "core"
	if p.PID != 0 {
		what = fmt.Sprintf("process %d", p.PID)
	}
	fmt.Fprintf(w, "%s, %s: %s in %s\n", what, p.Go, count(tasks, "task"), count(len(p.Loops), "loop"))
	_ = p.WriteNotes(w)
}

// WriteNotes writes what there is to know of the whole program: what could not be
// read, and that the process is stopped. Mostly that is nothing.
func (p *Picture) WriteNotes(w io.Writer) error {
	text := ""
	if p.Missing != "" {
		text = p.Missing + "\n"
	}
	if p.Stopped {
		text += "STOPPED: " + toContinue(p.PID) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// WriteHead writes a line about the loop. If something holds the loop, it adds what
// that is and its stack: the program's own calls, or all of them if full is set.
func (l *Loop) WriteHead(w io.Writer, full bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s, %d ready, %s, up %s, busy %s", l.Name, count(len(l.Tasks), "task"), l.connections(), l.Ready,
		count(l.Timers, "timer"), short(l.Uptime), share(l.Busy, l.Uptime))
	if !l.Exact {
		b.WriteString("; taken while running, " + l.changes())
	}
	if l.Short != "" {
		b.WriteString("; " + l.Short)
	}
	b.WriteByte('\n')
	if h := l.Held; h != nil {
		who := "a callback, or the loop itself,"
		if h.Task != 0 {
			who = l.label(h.Task)
		}
		fmt.Fprintf(&b, "HELD: %s has held the loop for %s: %s\n", who, short(h.For), h.Advice)
		writeStack(&b, "    ", h.Stack, full)
	}
	l.writeLongSteps(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// recent is how many steps that have held the loop are written.
const recent = 3

// writeLongSteps writes which steps have held the loop.
func (l *Loop) writeLongSteps(b *strings.Builder) {
	for i, s := range l.LongSteps[:min(len(l.LongSteps), recent)] {
		if i == 0 {
			b.WriteString("held before: ")
		} else {
			b.WriteString("; ")
		}
		who := "a callback, or one of several tasks"
		if s.Task != 0 {
			who = l.label(s.Task)
		}
		fmt.Fprintf(b, "%s by %s, %s ago", short(s.Took), who, short(s.Ago))
	}
	if n := len(l.LongSteps); n > 0 {
		b.WriteByte('\n')
	}
}

// changes says how many tasks came and went while the picture was taken.
func (l *Loop) changes() string {
	if l.Missed == 0 {
		return "no tasks started or ended"
	}
	return count(l.Missed, "task") + " started or ended"
}

// WriteCycles writes a line for each cycle of tasks that wait for each other.
func (l *Loop) WriteCycles(w io.Writer) error {
	var b strings.Builder
	name := l.names()
	for _, c := range l.Cycles {
		b.WriteString("CYCLE: " + cycleText(len(c), 0, func(i int) string { return name(c[i]) }) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cycleText says in words that n tasks wait for each other, each for the next and the last
// for the first. It names so many of them at most; 0 for all.
func cycleText(n, most int, name func(i int) string) string {
	if n == 0 {
		return ""
	}
	named := n
	if most > 0 {
		named = min(n, most)
	}
	var b strings.Builder
	for i := range named {
		b.WriteString(name(i))
		if i > 0 {
			b.WriteString(", which")
		}
		b.WriteString(" waits for ")
	}
	if more := n - named; more == 1 {
		b.WriteString("1 more task, which waits for ")
	} else if more > 1 {
		fmt.Fprintf(&b, "%d more tasks, the last of which waits for ", more)
	}
	b.WriteString(name(0))
	return b.String()
}

// names returns a function that names tasks, for many of them.
func (l *Loop) names() func(id uint64) string {
	find := sync.OnceValue(l.byID)
	return func(id uint64) string {
		if i, ok := find()(id); ok {
			return label(id, l.Tasks[i])
		}
		return label(id, nil)
	}
}

// label names a task.
func (l *Loop) label(id uint64) string {
	for _, t := range l.Tasks {
		if t.ID == id {
			return fmt.Sprintf("#%d %s", id, t.Name)
		}
	}
	return fmt.Sprintf("#%d", id)
}

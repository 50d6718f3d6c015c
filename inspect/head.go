package inspect

// This file writes what stands above the tasks: a line about the program and one about
// each loop, what holds it, what has held it before, and the rings of waits.

import (
	"fmt"
	"io"
	"strings"
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
	fmt.Fprintf(&b, "%s: %s, %d ready, %s, up %s, idle %s", l.Name, count(len(l.Tasks), "task"), l.Ready,
		count(l.Timers, "timer"), short(l.Uptime), share(l.Idle, l.Uptime))
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
	if len(l.Cycles) == 0 {
		return nil
	}
	names := make(map[uint64]string, len(l.Tasks))
	for _, t := range l.Tasks {
		names[t.ID] = t.Name
	}
	var b strings.Builder
	for _, c := range l.Cycles {
		b.WriteString("CYCLE: ")
		which := ""
		for _, id := range c {
			fmt.Fprintf(&b, "#%d %s%s waits for ", id, names[id], which)
			which = ", which"
		}
		fmt.Fprintf(&b, "#%d %s\n", c[0], names[c[0]])
	}
	_, err := io.WriteString(w, b.String())
	return err
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

package inspect

// Above the tasks stand a line about the program and one about each loop, what holds it, what
// has held it before, and the cycles of waits.

import (
	"fmt"
	"io"
	"strings"
)

func writeProgram(p *Program, w io.Writer) {
	tasks := 0
	for _, l := range p.Loops {
		tasks += len(l.Tasks)
	}
	what := "core"
	if p.PID != 0 {
		what = fmt.Sprintf("process %d", p.PID)
	}
	if len(p.Loops) == 0 && len(p.Goroutines) > 0 {
		fmt.Fprintf(w, "%s, %s: no loop is running in it\n", what, p.Go)
	} else {
		fmt.Fprintf(w, "%s, %s: %s in %s\n", what, p.Go, count(tasks, "task"), count(len(p.Loops), "loop"))
	}
	_ = p.WriteNotes(w)
}

// WriteNotes writes what there is to know of the whole program: what could not be
// read, and that the process is stopped. Mostly that is nothing.
func (p *Program) WriteNotes(w io.Writer) error {
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
// that is and its stack: the program's own calls, or all of them if full is set. If the loop
// is in deadlock or late, it adds a line that says so.
func (l *Loop) WriteHead(w io.Writer, full bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s, %d ready, %s, up %s, busy %s", l.Name, count(len(l.Tasks), "task"), connections(l), l.Ready,
		count(l.Timers, "timer"), short(l.Uptime), share(l.Busy, l.Uptime))
	if !l.Exact {
		b.WriteString("; taken while running, " + changes(l))
	}
	if l.Short != "" {
		b.WriteString("; " + l.Short)
	}
	b.WriteByte('\n')
	for _, s := range l.Servers {
		fmt.Fprintf(&b, "server %s\n", s)
	}
	if h := l.Held; h != nil {
		v, _ := l.heldUp()
		b.WriteString(v.String() + "\n")
		writeStack(&b, "    ", h.Stack, full)
	}
	if v, ok := l.dead(); ok {
		b.WriteString(v.String() + "\n")
	}
	if v, ok := l.late(); ok {
		b.WriteString(v.String() + "\n")
	}
	writeLongSteps(l, &b)
	_, err := io.WriteString(w, b.String())
	return err
}

// recent is how many steps that have held the loop are written.
const recent = 3

// writeLongSteps writes which steps have held the loop.
func writeLongSteps(l *Loop, b *strings.Builder) {
	for i, s := range l.LongSteps[:min(len(l.LongSteps), recent)] {
		if i == 0 {
			b.WriteString("held before: ")
		} else {
			b.WriteString("; ")
		}
		fmt.Fprintf(b, "%s by %s, %s ago", short(s.Took), by(l, s), short(s.Ago))
	}
	if n := len(l.LongSteps); n > 0 {
		b.WriteByte('\n')
	}
}

// WriteCycles writes a line for each cycle of tasks that wait for each other.
func (l *Loop) WriteCycles(w io.Writer) error {
	var b strings.Builder
	name := namesIn(l)
	for _, c := range l.Cycles {
		b.WriteString("CYCLE: " + cycleText(len(c), 0, func(i int) string { return name(c[i]) }) + l.endOf(c).words(name) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteRings writes a line for each cycle of tasks of several loops that wait for each
// other.
func (p *Program) WriteRings(w io.Writer) error {
	var b strings.Builder
	name := namesAcross(p)
	for _, ring := range p.Rings {
		b.WriteString("CYCLE: " + cycleText(len(ring), 0, func(i int) string { return name(ring[i]) }) + p.ends(ring, name) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeStack(w io.Writer, indent string, stack []Frame, full bool) {
	if !full {
		stack = own(stack)
	}
	for _, f := range stack {
		fmt.Fprintf(w, "%s%s %s:%d\n", indent, f.Func, f.File, f.Line)
	}
}

package inspect

// Goroutines are written below the tree of tasks.

import (
	"fmt"
	"io"
	"strings"
)

// WriteGoroutines writes the goroutines that run no task. Those with the same state and the same
// stack are one entry, with their number and the stack: the program's own calls, or all calls if
// full is set. Without full those that run nothing of the program are only counted. It writes
// nothing if goroutines were not asked for.
func (p *Program) WriteGoroutines(w io.Writer, full bool) error {
	var b strings.Builder
	b.WriteString(p.goroutinesHead())
	for _, g := range p.GoroutineGroups(full) {
		fmt.Fprintf(&b, "  %s\n", groupLine(g))
		writeStack(&b, "     ", g.First.Stack, full)
		if g.First.Cut {
			b.WriteString("     ... the outermost calls could not be read\n")
		}
		if s := g.First.Site; s != nil && (full || !s.ofRondo()) {
			fmt.Fprintf(&b, "     started by %s %s:%d\n", s.Func, s.File, s.Line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// goroutinesHead returns the line above the goroutines; "" if there is nothing to say.
func (p *Program) goroutinesHead() string {
	rondo, runtime := 0, 0
	for _, g := range p.Goroutines {
		switch g.Kind {
		case GoroutineRondo:
			rondo++
		case GoroutineRuntime:
			runtime++
		}
	}
	own := len(p.Goroutines) - rondo - runtime
	switch {
	case len(p.Goroutines) > 0:
	case p.NoGoroutines != "":
		return "goroutines are missing: " + p.NoGoroutines + "\n"
	default:
		return ""
	}
	head := count(own, "goroutine")
	if len(p.Loops) > 0 {
		head += " beside the tasks"
	}
	var others []string
	if rondo > 0 {
		others = append(others, fmt.Sprintf("%d of Rondo", rondo))
	}
	if runtime > 0 {
		others = append(others, fmt.Sprintf("%d of Go's runtime", runtime))
	}
	if len(others) > 0 {
		head += ", and " + strings.Join(others, " and ")
	}
	if p.MoreGoroutines > 0 {
		head += fmt.Sprintf("; %s more not read", digits(uint64(p.MoreGoroutines)))
	}
	if p.NoGoroutines != "" {
		head += ": " + p.NoGoroutines
	}
	return head + "\n"
}

// groupLine describes a group of goroutines.
func groupLine(g GoroutineGroup) string {
	line := "goroutine " + digits(g.First.ID)
	if g.Goroutines > 1 {
		line = fmt.Sprintf("%d × like goroutine %d", g.Goroutines, g.First.ID)
	}
	return line + " " + g.First.doing()
}

// doing says what a goroutine does, with the function that it began with.
func (g *Goroutine) doing() string {
	text := "[" + g.State + "]"
	if g.Loop != "" {
		text += ", runs " + g.Loop
	}
	if g.Func != "" {
		text += "  (" + g.Func + ")"
	}
	return text
}

package inspect

// Goroutines of a program are listed beside its tasks: those that run no task of a loop. The law: a
// goroutine is listed once, in Program.Goroutines or as the Offload of the task that waits for
// it, and its state is the runtime's own word for it.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// A Goroutine is one that runs no task. Workers of loops are not among them: Loop.Workers counts
// these.
type Goroutine struct {
	ID uint64 `json:"id"`
	// State is running, runnable, syscall, the runtime's words for what it waits for, such as
	// "chan receive", or "ran meanwhile" if it ran each time that it was looked at.
	State string `json:"state"`
	// Kind is GoroutineRondo or GoroutineRuntime for one that runs nothing of the program: a
	// helper of Rondo's, or one of Go's runtime. It is "" for the program's own.
	Kind string `json:"kind,omitempty"`
	// Loop is the loop whose Run it has called; "" for others.
	Loop string `json:"loop,omitempty"`
	Func string `json:"func,omitempty"` // the function that it began with
	// Site is the go statement that started it, and Parent the goroutine that ran that; nil and
	// 0 if they are not known.
	Site   *Frame  `json:"site,omitempty"`
	Parent uint64  `json:"parent,omitempty"`
	Thread int     `json:"thread,omitempty"` // where it runs, if that is known
	Stack  []Frame `json:"stack,omitempty"`  // the innermost call first, all calls included
	Cut    bool    `json:"cut,omitempty"`    // the outermost calls are missing
}

// The kinds of goroutines that run nothing of the program.
const (
	GoroutineRondo   = "rondo"
	GoroutineRuntime = "runtime"
)

// A GoroutineGroup is the goroutines that do the same: they have one state and one stack.
type GoroutineGroup struct {
	Goroutines int
	First      *Goroutine // the one with the lowest number
}

// GoroutineGroups puts the goroutines into groups, the largest first: those of the program, or all
// if all is set.
func (p *Program) GoroutineGroups(all bool) []GoroutineGroup {
	type key struct {
		state, loop, kind, shape string
		cut                      bool
	}
	shapes := make(map[*Frame]string)
	groups := make(map[key]*GoroutineGroup)
	var list []*GoroutineGroup
	for _, g := range p.Goroutines {
		if g.Kind != "" && !all {
			continue
		}
		k := key{g.State, g.Loop, g.Kind, shapeOf(g, shapes), g.Cut}
		group := groups[k]
		if group == nil {
			group = &GoroutineGroup{First: g}
			groups[k], list = group, append(list, group)
		}
		group.Goroutines++
		if g.ID < group.First.ID {
			group.First = g
		}
	}
	slices.SortFunc(list, func(a, b *GoroutineGroup) int {
		return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), cmp.Compare(a.First.ID, b.First.ID))
	})
	out := make([]GoroutineGroup, len(list))
	for i, g := range list {
		out[i] = *g
	}
	return out
}

// shapeOf returns a text that is equal for goroutines with equal stacks.
func shapeOf(g *Goroutine, shapes map[*Frame]string) string {
	if len(g.Stack) == 0 {
		return g.Func
	}
	if kept, ok := shapes[&g.Stack[0]]; ok {
		return kept
	}
	var b strings.Builder
	for _, f := range g.Stack {
		fmt.Fprintln(&b, f.Func, f.File, f.Line)
	}
	shapes[&g.Stack[0]] = b.String()
	return b.String()
}

// Place returns the call where the goroutine stands: the innermost of the program's own, or else
// the one with which it began. It is nil if none is known.
func (g *Goroutine) Place() *Frame {
	for i := range g.Stack {
		if g.Stack[i].Own() {
			return &g.Stack[i]
		}
	}
	return g.Site
}

// WriteGoroutines writes the goroutines beside the tasks: those that do the same as one entry, with
// their number and the stack, which is the program's own calls, or all of them if full is
// set. Without full those that run nothing of the program are counted only. It writes nothing if
// goroutines were not asked for.
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
	if p.NoGoroutines != "" {
		return "goroutines are missing: " + p.NoGoroutines + "\n"
	}
	if len(p.Goroutines) == 0 {
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
		head += fmt.Sprintf("; %s not read", were(p.MoreGoroutines, "more"))
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

// A lister lists the goroutines of a program.
type lister struct {
	layouts []offsets
	program *goinspect.Program
	frames  map[*goinspect.Frame][]Frame
	sites   map[uint64]*Frame
	runs    map[uint64]string // the loops, by the records of the goroutines that have called Run
	budget  *budget
}

// readGoroutines lists the goroutines that run none of the tasks that the readers have read.
func (t *Target) readGoroutines(p *Program, readers []*reader, left *budget) {
	list := newLister(t.program, t.layouts, left)
	var known []uint64
	for i, r := range readers {
		known = append(known, r.known...)
		if r.runs != 0 {
			list.runs[r.runs] = p.Loops[i].Name
		}
	}
	slices.Sort(known)
	all, more, ok := t.program.Goroutines(known, left.options.MaxTasks)
	p.MoreGoroutines = more
	if !ok {
		p.NoGoroutines = cmp.Or(t.program.Missing(), "the runtime's list of them was not found")
		return
	}
	p.Goroutines = make([]*Goroutine, 0, len(all))
	for i := range all {
		g := list.goroutine(&all[i])
		if !workerOf(g) {
			p.Goroutines = append(p.Goroutines, g)
		}
	}
}

func newLister(p *goinspect.Program, layouts []offsets, left *budget) *lister {
	return &lister{
		layouts: layouts, program: p, budget: left,
		frames: make(map[*goinspect.Frame][]Frame), sites: make(map[uint64]*Frame), runs: make(map[uint64]string),
	}
}

// goroutine describes a goroutine.
func (l *lister) goroutine(s *goinspect.Live) *Goroutine {
	g := &Goroutine{
		ID: s.Goroutine, State: s.State.String(), Loop: l.runs[s.Record], Func: s.Start.Func, Thread: s.Thread,
		Stack: l.framesOf(s.Frames), Cut: s.Cut, Parent: s.Parent,
	}
	switch {
	case s.State == goinspect.Unknown:
		g.State = "ran meanwhile"
	case s.Wait != "":
		g.State = s.Wait
	}
	if s.Site != 0 {
		g.Site = l.site(s.Site)
	}
	g.Kind = l.kind(g, s)
	return g
}

// kind says for whom a goroutine runs: the program, if one of its calls, the function that it began
// with or its go statement is the program's.
func (l *lister) kind(g *Goroutine, s *goinspect.Live) string {
	begin := Frame{Func: s.Start.Func, File: s.Start.File}
	begin.Rondo = l.holds(begin)
	rondo := begin.ofRondo()
	for _, f := range g.Stack {
		if f.Own() {
			return ""
		}
		rondo = rondo || f.ofRondo()
	}
	switch {
	case rondo || g.Site != nil && g.Site.ofRondo():
		return GoroutineRondo
	case begin.Func != "" && begin.Own() || g.Site != nil && g.Site.Own():
		return ""
	}
	return GoroutineRuntime
}

// ofRondo reports whether a call is Rondo's.
func (f Frame) ofRondo() bool {
	pkg := f.Package()
	return f.Rondo || !f.Own() && (pkg == module || strings.HasPrefix(pkg, module+"/"))
}

func (l *lister) holds(f Frame) bool {
	return f.Own() && slices.ContainsFunc(l.layouts, func(o offsets) bool { return o.holds(f.File) })
}

// framesOf returns the frames of a stack as they stand in a snapshot. Goroutines with the same
// stack share it.
func (l *lister) framesOf(frames []goinspect.Frame) []Frame {
	if len(frames) == 0 {
		return nil
	}
	if kept, ok := l.frames[&frames[0]]; ok {
		return kept
	}
	out := make([]Frame, len(frames))
	for i, f := range frames {
		out[i] = Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined}
		out[i].Rondo = l.holds(out[i])
	}
	l.frames[&frames[0]] = out
	l.budget.keepStack(len(out))
	return out
}

// site returns the go statement whose return address is given: the innermost call there.
func (l *lister) site(pc uint64) *Frame {
	kept, ok := l.sites[pc]
	if ok {
		return kept
	}
	for _, f := range l.program.Call(pc) {
		frame := Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined}
		frame.Rondo = l.holds(frame)
		kept = &frame
		break
	}
	l.sites[pc] = kept
	return kept
}

// workerOf reports whether a goroutine is a worker of a loop, a coroutine that Rondo has made: it
// is idle, or runs a task that was started meanwhile. A coroutine that moves all the time may be
// one.
func workerOf(g *Goroutine) bool {
	if g.Func != "runtime.corostart" {
		return false
	}
	for i := len(g.Stack) - 1; i >= 0; i-- {
		if pkg := g.Stack[i].Package(); pkg != "runtime" && pkg != "iter" {
			return pkg == module || g.Stack[i].Rondo
		}
	}
	return len(g.Stack) == 0
}

// keepKnown notes which goroutines are nested in tasks, and which runs the loop.
func (r *reader) keepKnown(head record) {
	for _, gs := range r.nested {
		for _, g := range gs {
			r.known = append(r.known, g.Record)
		}
	}
	hub := r.one(head.uint64(layout.LoopRunTask), layout.TaskSize)
	r.runs = r.one(hub.uint64(layout.TaskWorker), layout.WorkerSize).uint64(layout.WorkerG)
}

// askGoroutines lists the goroutines of the calling program by the text that the runtime makes of
// them, which says nothing of those that run its own.
func (p *Program) askGoroutines() {
	ofTasks := make(map[uint64]bool)
	for _, l := range p.Loops {
		for _, t := range l.Tasks {
			ofTasks[t.Goroutine] = true
		}
	}
	list := newLister(nil, nil, nil)
	for id, s := range stacksOfAll() {
		g := list.goroutine(&goinspect.Live{Stack: s})
		if s.How != "" {
			g.State = s.How
		}
		if !ofTasks[id] && where(g.Stack) != inLoop {
			p.Goroutines = append(p.Goroutines, g)
		}
	}
	slices.SortFunc(p.Goroutines, func(a, b *Goroutine) int { return cmp.Compare(a.ID, b.ID) })
}

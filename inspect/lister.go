package inspect

// The goroutines of a program are read after its tasks, so that those that run tasks are known.

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

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
	all := 0
	for _, r := range readers {
		all += len(r.known)
	}
	known := make([]uint64, 0, all)
	for i, r := range readers {
		known = append(known, r.known...)
		r.known = nil
		if r.runs != 0 {
			list.runs[r.runs] = p.Loops[i].Name
		}
	}
	slices.Sort(known)
	ofTasks, ok := p.offloaded(), false
	if left.over() {
		p.NoGoroutines = "the snapshot " + left.short
		return
	}
	p.MoreGoroutines, ok = t.program.Goroutines(known, left.options.MaxTasks, func(some []goinspect.Live) bool {
		for i := range some {
			g := list.goroutine(&some[i])
			if !workerOf(g) && !ofTasks[g.ID] {
				p.Goroutines = append(p.Goroutines, g)
				left.kept += perGoroutine
			}
		}
		return !left.over()
	})
	switch {
	case !ok:
		p.NoGoroutines = cmp.Or(t.program.Missing(), "the runtime's list of them was not found")
	case left.short != "" && p.MoreGoroutines > 0:
		p.NoGoroutines = "the snapshot " + left.short
	}
}

// offloaded returns the numbers of the goroutines for which tasks wait in Offload.
func (p *Program) offloaded() map[uint64]bool {
	out := make(map[uint64]bool)
	for _, l := range p.Loops {
		for _, t := range l.Tasks {
			if t.Offload != nil {
				out[t.Offload.ID] = true
			}
		}
	}
	return out
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
		ID: s.Goroutine, State: stateOf(s.Stack), Loop: l.runs[s.Record], Func: s.Start.Func, Thread: s.Thread,
		Stack: l.framesOf(s.Frames), Cut: s.Cut, Parent: s.Parent,
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
	maps.Copy(ofTasks, p.offloaded())
	list := newLister(nil, nil, new(budget))
	for id, s := range stacksOfAll() {
		g := list.goroutine(&goinspect.Live{Stack: s})
		if !ofTasks[id] && where(g.Stack) != inLoop {
			p.Goroutines = append(p.Goroutines, g)
		}
	}
	slices.SortFunc(p.Goroutines, func(a, b *Goroutine) int { return cmp.Compare(a.ID, b.ID) })
}

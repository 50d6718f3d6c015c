package inspect

import (
	"slices"
	"strings"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// framesOf returns frames as they stand in a picture. Tasks with the same stack
// share it.
func (r *reader) framesOf(frames []goinspect.Frame) []Frame {
	if len(frames) == 0 {
		return nil
	}
	if kept, ok := r.frames[&frames[0]]; ok {
		return kept
	}
	out := make([]Frame, len(frames))
	for i, f := range frames {
		out[i] = Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined}
		out[i].Rondo = out[i].Own() && r.layout.holds(f.File)
	}
	r.frames[&frames[0]] = out
	r.budget.keepStack(len(out))
	return out
}

// site returns the call that has started a task; nil if it is not known.
func (r *reader) site(task record) *Frame {
	far := int32(task.uint32(layout.TaskSite))
	if far == 0 || r.layout.marker == 0 {
		return nil
	}
	pc := r.layout.marker + uint64(int64(far))
	kept, ok := r.sites[pc]
	if ok {
		return kept
	}
	for _, f := range r.program.Call(pc) {
		frame := Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Inlined}
		if frame.Own() && !r.layout.holds(f.File) {
			kept = &frame
			break
		}
	}
	if r.sites == nil {
		r.sites = make(map[uint64]*Frame)
	}
	r.sites[pc] = kept
	return kept
}

// module is where Rondo's own packages are.
const module = "github.com/rondo-go/rondo"

// packages are Rondo's own, besides package rondo, in folders of their names.
var packages = []string{"broadcast", "coro", "httptask", "inspect", "nats", "process", "shard", "signals", "sim", "slogtask", "socket"}

// library are the packages of the standard library whose calls lie between the
// program and a wait.
var library = []string{"runtime", "iter", "syscall", "sync", "time", "internal"}

// Own reports whether a call is the program's, and not one of Rondo or of the
// standard library below it.
func (f Frame) Own() bool {
	pkg := f.Package()
	if pkg == module || f.Rondo {
		return false
	}
	if rest, ok := strings.CutPrefix(pkg, module+"/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		return first != "internal" && !slices.Contains(packages, first) || strings.HasPrefix(rest, "nats/examples/")
	}
	for _, l := range library {
		if pkg == l || strings.HasPrefix(pkg, l+"/") {
			return false
		}
	}
	return true
}

// Package returns the import path of the function's package.
func (f Frame) Package() string {
	slash := strings.LastIndexByte(f.Func, '/') + 1
	// A generic function may have slashes in its brackets only after its name.
	if dot := strings.IndexByte(f.Func[slash:], '.'); dot >= 0 {
		return f.Func[:slash+dot]
	}
	return f.Func
}

// own returns those of the calls on a stack that are the program's.
func own(stack []Frame) []Frame {
	var out []Frame
	for _, f := range stack {
		if f.Own() {
			out = append(out, f)
		}
	}
	return out
}

package inspect

import (
	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// framesOf returns frames as they stand in a snapshot. Tasks with the same stack
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

package goinspect

// The stacks that were walked are kept as a tree of calls, the innermost
// one next to its root. Of a million tasks most stand where others stand, so a walk
// mostly finds each next call where the last walk went, with the frames at its end.

// A call is one in the tree. Which calls are inside it is the way to it, so the same
// address occurs in many places of the tree.
type call struct {
	pc     uint64
	step   step
	inside *call
	depth  int
	last   *call            // its caller on the stack that was walked last
	others map[uint64]*call // its other callers, by their addresses

	// Of the stack that ends here, once there was one.
	ended  bool
	frames []Frame
	short  bool // the outermost frames are left out
}

// maxCalls bounds how many calls the tree has.
const maxCalls = maxFrames

// follow walks a stack to its end and returns its frames. It reports whether the
// outermost are missing.
func (p *Program) follow(w walker) (frames []Frame, cut bool) {
	begin, at := w, &p.calls
	for {
		next := at.last
		if next == nil || next.pc != w.pc {
			if next = p.caller(at, w.pc); next == nil {
				// The tree is full.
				pcs, whole := p.unwind(begin)
				frames, short := p.symbolise(pcs, false)
				return frames, short || !whole
			}
			at.last = next
		}
		at = next
		if at.step.top || !w.out(at.step) {
			break
		}
	}
	if !at.ended {
		at.frames, at.short = p.symbolise(at.way(), false)
		at.ended = true
	}
	return at.frames, at.short || !at.step.top
}

// caller returns the caller of a call that has an address, and adds it if it is not
// known; nil if the tree is full.
func (p *Program) caller(of *call, pc uint64) *call {
	if c := of.others[pc]; c != nil {
		return c
	}
	if p.known >= maxCalls {
		return nil
	}
	p.known++
	c := &call{pc: pc, step: p.step(pc), inside: of, depth: of.depth + 1}
	if of.last != nil {
		if of.others == nil {
			of.others = map[uint64]*call{of.last.pc: of.last}
		}
		of.others[pc] = c
	}
	return c
}

// Call returns the calls at a return address, the innermost first: several if they are
// inlined. They must not be changed.
func (p *Program) Call(pc uint64) []Frame {
	frames, _ := p.symbolise([]uint64{pc}, false)
	return frames
}

// way returns the addresses of a call and of those inside it, the innermost first.
func (c *call) way() []uint64 {
	pcs := make([]uint64, c.depth)
	for ; c.depth > 0; c = c.inside {
		pcs[c.depth-1] = c.pc
	}
	return pcs
}

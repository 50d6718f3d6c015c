package goinspect

// The stacks of goroutines, with the names and lines of their calls.

import (
	"encoding/binary"
	"slices"
)

// A Stack is where a goroutine was.
type Stack struct {
	State     State
	Goroutine uint64  // its number
	Record    uint64  // the address of its g
	Frames    []Frame // the innermost call first; must not be changed
	Cut       bool    // the outermost calls are missing
	Thread    int     // the thread on which it ran, if it did
	How       string  // how a running goroutine's stack was read; "" if it was not
	Wait      string  // the runtime's words for what it waits for; "" if it does not wait, or they were not found
}

// symbolise returns the frames of a stack, and whether the outermost are left out,
// because too many are remembered. exact says that the innermost address is that of
// the next instruction, and not the return address of a call.
func (p *Program) symbolise(pcs []uint64, exact bool) (frames []Frame, short bool) {
	if kept, ok := p.remembered(pcs, exact); ok {
		return kept, false
	}
	if p.kept+len(pcs) > maxFrames && len(pcs) > shortest {
		pcs, short = pcs[:shortest], true
		if kept, ok := p.remembered(pcs, exact); ok {
			return kept, true
		}
	}
	for _, pc := range pcs {
		f, ok := p.find(pc)
		if !ok {
			break
		}
		here := p.framesAt(f, pc, !exact)
		frames = append(frames, here...)
		exact = len(here) > 0 && interrupts(here[len(here)-1].Func)
	}
	p.stacks[string(p.key)] = frames
	p.kept += len(frames)
	return frames, short
}

// interrupts reports whether a function of the runtime is called by no instruction: a signal puts
// it in, with the interrupted instruction for its return address. See injectedCall in
// runtime/traceback.go.
func interrupts(name string) bool {
	return name == "runtime.asyncPreempt" || name == "runtime.sigpanic" || name == "runtime.debugCallV2"
}

// remembered returns the frames of a stack that was seen before. It leaves the
// stack's key in p.key.
func (p *Program) remembered(pcs []uint64, exact bool) ([]Frame, bool) {
	p.key = p.key[:0]
	for _, pc := range pcs {
		p.key = binary.LittleEndian.AppendUint64(p.key, pc)
	}
	if exact {
		p.key = append(p.key, 1)
	}
	kept, ok := p.stacks[string(p.key)]
	return kept, ok
}

// batch is how many stacks are read at a time, and rounds how often one that
// changed meanwhile is tried.
const (
	batch  = 1000
	rounds = 4
	// maxCopy is how much of a stack is read: its innermost part. budget is how much
	// of all stacks of a batch is read at once.
	maxCopy = 256 << 10
	budget  = 4 << 20
	// maxKept bounds how many places in code are remembered.
	maxKept = 1 << 17
	// maxFrames bounds how many calls of stacks are remembered, which all that differ
	// are while a picture is taken. Beyond it, only the innermost calls of a stack are
	// read, as many as shortest says.
	maxFrames = 1 << 19
	shortest  = 32
)

// Forget drops what is remembered of stacks, if it is much. It is called before a
// picture is taken.
func (p *Program) Forget() {
	if p.kept > maxFrames/4 {
		clear(p.stacks)
		p.kept, p.calls, p.known = 0, call{}, 0
	}
	if len(p.frames) > maxKept || len(p.steps) > maxKept || len(p.funcs) > maxKept {
		clear(p.frames)
		clear(p.funcs)
		clear(p.steps)
	}
}

// Stacks returns the stacks of the given goroutines. A stack that cannot be read
// has State Unknown.
//
// Nothing is stopped. A g is read before its stack and after it, and the stack
// is believed only if the g has not changed. The runtime counts in a byte how often a
// goroutine stopped running, but not the switches of coroutines: a caller must count those.
func (p *Program) Stacks(gs []Goroutine) []Stack {
	out := make([]Stack, len(gs))
	if !p.inlines() || !p.chooseLayout(gs) {
		return out
	}
	for from := 0; from < len(gs); from += batch {
		to := min(from+batch, len(gs))
		p.stacksOf(gs[from:to], out[from:to])
	}
	for i := range out {
		if out[i].State == Running {
			p.sample(gs[i], &out[i])
		}
	}
	return out
}

// attempt is one stack of a batch.
type attempt struct {
	index int
	of    Goroutine
	g     gState
	first []byte
}

func (p *Program) stacksOf(gs []Goroutine, out []Stack) {
	todo := p.scratch.todo[:0]
	for i, of := range gs {
		if of.Record != 0 {
			todo = append(todo, attempt{index: i, of: of})
		}
	}
	p.scratch.todo = todo
	for round := 0; len(todo) > 0 && round < rounds; {
		again, later := p.tryStacks(todo, out)
		if len(later) == 0 {
			round++
		}
		todo = append(later, again...)
	}
}

// tryStacks reads the stacks of the goroutines in todo, and returns those that
// changed meanwhile, and those that it did not try for want of room.
func (p *Program) tryStacks(todo []attempt, out []Stack) (again, later []attempt) {
	before := p.readGsInto(&p.scratch.before, todo)
	sizes, total := slices.Grow(p.scratch.sizes[:0], len(todo))[:len(todo)], 0
	clear(sizes)
	for i := range todo {
		a := &todo[i]
		a.first, a.g = before[i].Data, gState{}
		if !before[i].OK {
			continue
		}
		g, ok := p.layout.decode(a.of, a.first)
		if !ok {
			continue
		}
		a.g = g
		if g.state != Running && g.state != Dead && g.sp >= g.low && g.sp < g.high {
			sizes[i] = int(min(g.high-g.sp, maxCopy))
		}
		if total+sizes[i] > budget {
			todo, later = todo[:i], todo[i:]
			break
		}
		total += sizes[i]
	}
	if len(p.scratch.room) < total {
		p.scratch.room = make([]byte, total)
	}
	room, stacks := p.scratch.room, p.scratch.stacks[:0]
	for i, n := range sizes[:len(todo)] {
		stacks = append(stacks, Request{Addr: todo[i].g.sp, Data: room[:n:n]})
		room = room[n:]
	}
	p.scratch.sizes, p.scratch.stacks = sizes, stacks
	p.mem.ReadMany(stacks)
	after := p.readGsInto(&p.scratch.after, todo)
	for i := range todo {
		a := &todo[i]
		s := &out[a.index]
		*s = Stack{State: a.g.state, Goroutine: a.g.id, Record: a.of.Record}
		if a.g.state == Unknown || a.g.state == Dead || a.g.state == Running {
			continue
		}
		if !after[i].OK || !p.layout.same(a.first, after[i].Data) || len(stacks[i].Data) == 0 || !stacks[i].OK {
			*s = Stack{}
			again = append(again, attempt{index: a.index, of: a.of})
			continue
		}
		s.Frames, s.Cut = p.follow(p.walk(stacks[i].Data, a.g.pc, a.g.lr))
		switch a.g.state {
		case Syscall:
			s.Thread = p.thread(&a.g)
		case Waiting:
			s.Wait = p.reason(a.g.reason)
		}
	}
	return again, later
}

// scratch is what reading a batch of stacks needs. It is kept for the next batch.
type scratch struct {
	todo          []attempt
	before, after gRoom
	sizes         []int
	stacks        []Request
	room          []byte
}

// A gRoom has copies of the runtime's records of goroutines.
type gRoom struct {
	data     []byte
	requests []Request
}

func (p *Program) readGs(todo []attempt) []Request { return p.readGsInto(new(gRoom), todo) }

// readGsInto is readGs with room that is kept for the next time.
func (p *Program) readGsInto(room *gRoom, todo []attempt) []Request {
	size := p.layout.size
	if len(room.data) < size*len(todo) {
		room.data = make([]byte, size*len(todo))
	}
	room.requests = room.requests[:0]
	for i := range todo {
		room.requests = append(room.requests, Request{Addr: todo[i].of.Record, Data: room.data[i*size : (i+1)*size : (i+1)*size]})
	}
	p.mem.ReadMany(room.requests)
	return room.requests
}

// registers are those of a thread, with the memory from its stack pointer on.
type registers struct {
	pc, sp, lr uint64
	stack      []byte
	exact      bool   // pc is the next instruction
	how        string // how they were read
}

// A sampler is a Memory that knows where a running thread is.
type sampler interface {
	registers(thread int) (registers, bool)
}

// sample reads a running goroutine's stack by its thread. The goroutine may leave
// the thread meanwhile, so the stack pointer must lie on the goroutine's stack.
func (p *Program) sample(of Goroutine, out *Stack) {
	s, ok := p.mem.(sampler)
	if !ok {
		return
	}
	for range rounds {
		g, ok := p.readG(of)
		if !ok || g.state != Running {
			if ok {
				one := make([]Stack, 1)
				p.stacksOf([]Goroutine{of}, one)
				*out = one[0]
			}
			return
		}
		thread := p.thread(&g)
		if thread == 0 {
			return
		}
		out.Thread = thread
		r, ok := s.registers(thread)
		for n := 0; ok && n < maxHandlers && (r.sp < g.low || r.sp >= g.high); n++ {
			r, ok = p.interrupted(r)
		}
		if !ok || r.sp < g.low || r.sp >= g.high {
			// In the scheduler, or gone.
			continue
		}
		r.stack = r.stack[:min(uint64(len(r.stack)), g.high-r.sp)]
		pcs, whole := p.unwind(p.walk(r.stack, r.pc, r.lr))
		frames, short := p.symbolise(pcs, r.exact)
		out.Frames, out.Cut, out.How = frames, short || !whole, r.how
		return
	}
}

func (p *Program) readG(of Goroutine) (gState, bool) {
	b := make([]byte, p.layout.size)
	if p.mem.Read(of.Record, b) != nil {
		return gState{}, false
	}
	return p.layout.decode(of, b)
}

// upFrom reads the memory from sp on, as much as is there up to maxCopy.
func upFrom(m Memory, sp uint64) []byte {
	b := make([]byte, maxCopy)
	n := pageSize - int(sp%pageSize)
	if m.Read(sp, b[:n]) != nil {
		return nil
	}
	for n+pageSize <= len(b) && m.Read(sp+uint64(n), b[n:n+pageSize]) == nil {
		n += pageSize
	}
	return b[:n]
}

package goinspect

// A walker walks stacks. At each call the linker's tables say how much of the
// stack the function has in use there, so the return address is found without
// frame pointers.

import "encoding/binary"

// A step is what unwinding needs at one instruction.
type step struct {
	delta int32 // bytes in use above the stack pointer
	top   bool  // the stack ends here
	ok    bool
}

func (p *Program) step(pc uint64) step {
	if s, ok := p.steps[pc]; ok {
		return s
	}
	var s step
	if f, ok := p.find(pc); ok {
		s.top = f.record[funcFlag]&flagTop != 0
		s.delta, s.ok = p.at(f, Uint32(f.record, funcPCSP), pc)
		s.ok = s.ok && s.delta >= 0
	}
	p.steps[pc] = s
	return s
}

// maxDepth bounds how many calls of a stack are read.
const maxDepth = 4096

// A walker is at one call of a stack, and walks outwards.
type walker struct {
	arch   arch
	stack  []byte // the memory from the stack pointer of the innermost call on
	sp     int    // in it
	pc, lr uint64
	depth  int
}

// walk begins at the innermost call of a stack, which is the memory from its stack
// pointer on.
func (p *Program) walk(stack []byte, pc, lr uint64) walker {
	w := walker{stack: stack, pc: pc, lr: lr}
	if len(p.modules) > 0 {
		w.arch = p.modules[0].arch
	}
	return w
}

// out goes to the caller of the call, whose step is s. It reports whether there is one.
func (w *walker) out(s step) bool {
	w.depth++
	if !s.ok || w.depth >= maxDepth {
		return false
	}
	switch w.arch {
	case archAMD64:
		w.sp += int(s.delta)
		if w.sp+8 > len(w.stack) {
			return false
		}
		w.pc = binary.LittleEndian.Uint64(w.stack[w.sp:])
		w.sp += 8
	case archARM64:
		if s.delta == 0 {
			// Only the innermost function may have left its return address in the
			// register.
			if w.depth > 1 || w.lr == 0 {
				return false
			}
			w.pc, w.lr = w.lr, 0
			break
		}
		if w.sp+8 > len(w.stack) {
			return false
		}
		w.pc = binary.LittleEndian.Uint64(w.stack[w.sp:])
		w.sp += int(s.delta)
	default:
		return false
	}
	return w.pc != 0
}

// unwind returns the address of each call on a stack, the innermost first. It reports
// whether it came to the end.
func (p *Program) unwind(w walker) (pcs []uint64, whole bool) {
	for {
		pcs = append(pcs, w.pc)
		s := p.step(w.pc)
		if s.top {
			return pcs, true
		}
		if !w.out(s) {
			return pcs, false
		}
	}
}

package goinspect

// The place of a thread before a signal came. The thread is in the
// handler, on a stack of its own, on which the kernel has saved the registers.
// Nothing points to that record, so it is found by its content.

// A signalFrame is where things stand in the kernel's struct rt_sigframe.
type signalFrame struct {
	link        int // the next context: there is none
	stack, size int // the stack of the handler
	sp, pc, lr  int // registers; lr is -1 if there is none
}

// frameOf returns the layout for a processor; see arch/x86/include/asm/sigframe.h
// and arch/arm64/kernel/signal.c of Linux.
func frameOf(a arch) (signalFrame, bool) {
	switch a {
	case archAMD64:
		return signalFrame{link: 16, stack: 24, size: 40, sp: 168, pc: 176, lr: -1}, true
	case archARM64:
		return signalFrame{link: 136, stack: 144, size: 160, sp: 560, pc: 568, lr: 552}, true
	}
	return signalFrame{}, false
}

// maxHandlers is how many signal handlers deep a thread may be: one is interrupted
// by the signal that kills the process.
const maxHandlers = 4

// interrupted returns the registers that a signal interrupted, if the thread is in
// a handler on the stack that Go gives those.
func (p *Program) interrupted(r registers) (registers, bool) {
	frame, ok := frameOf(p.modules[0].arch)
	if !ok {
		return r, false
	}
	regions := p.mem.Regions()
	for i := 0; i+frame.pc+8 <= len(r.stack); i += 8 {
		at, base, size := r.sp+uint64(i), Uint64(r.stack, i+frame.stack), Uint64(r.stack, i+frame.size)
		if Uint64(r.stack, i+frame.link) != 0 || size > maxStack || at < base || at-base >= size {
			continue
		}
		sp, pc := Uint64(r.stack, i+frame.sp), Uint64(r.stack, i+frame.pc)
		if in, ok := regionAt(regions, pc); !ok || !in.Executable || sp%8 != 0 {
			continue
		}
		if _, ok := regionAt(regions, sp); !ok || sp == at {
			continue
		}
		out := registers{sp: sp, pc: pc, lr: Uint64(r.stack, i+frame.lr), exact: true, how: r.how, stack: upFrom(p.mem, sp)}
		return out, len(out.stack) > 0
	}
	return r, false
}

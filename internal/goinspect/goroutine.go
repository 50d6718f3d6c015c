package goinspect

// The runtime's record of a goroutine is its g. Go does not
// promise its layout. So each known layout is tried, and one is used once it has
// shown a goroutine with the number that the caller expects. Every g is checked
// before it is believed. TestLayout compares the layouts with what the toolchain
// says of itself, so a release of Go that changes them fails there.

// A State is what a goroutine is doing.
type State uint8

const (
	Unknown  State = iota // it could not be read, or is not a goroutine
	Runnable              // it could run
	Running               // it has a processor
	Syscall               // it is in a system call
	Waiting               // it is parked
	Dead                  // it has ended, or has not begun
)

// String returns the state in a word.
func (s State) String() string {
	return [...]string{"unknown", "runnable", "running", "syscall", "waiting", "dead"}[s]
}

// layout is where things stand in the runtime's g and m.
type layout struct {
	m, sp, pc, self, lr, bp int // in g
	sysSP, sysPC, sysBP     int
	status, goid            int
	reason                  int // why it waits, a byte
	seq                     int // a byte that grows each time that it stops running
	parent, gopc, start     int // the goroutine that started it, where, and with what function
	procid                  int // in m
	size                    int // how much of a g is read
	stable                  int // how much of it does not change while it is parked
}

// The runtime's numbers of the states of a goroutine.
const (
	statusRunnable  = 1
	statusRunning   = 2
	statusSyscall   = 3
	statusWaiting   = 4
	statusDead      = 6
	statusCopystack = 8 // its stack is being moved
	statusPreempted = 9
	statusLeaked    = 10 // it waits, and nothing can wake it
	statusDeadExtra = 11
	statusScan      = 0x1000 // a bit besides: the collector looks at it
)

// layouts are the known ones, the newest first. In Go 1.25 the runtime's gobuf
// lost a word.
var layouts = []layout{layoutWith(48), layoutWith(56)}

// layoutWith returns the layout with a gobuf of this size.
func layoutWith(gobuf int) layout {
	s := 56 + gobuf
	return layout{
		m: 48, sp: 56, pc: 64, self: 72, lr: s - 16, bp: s - 8,
		sysSP: s, sysPC: s + 8, sysBP: s + 16, status: s + 40, goid: s + 48,
		reason: s + 72, seq: s + 87, parent: s + 176, gopc: s + 184, start: s + 200,
		procid: 16 + gobuf, size: s + 88, stable: s,
	}
}

// A Goroutine says which goroutine is meant.
type Goroutine struct {
	Record uint64 // the address of its g
	ID     uint64 // its number; 0 if it is not known
}

// A gState is one g as it was read.
type gState struct {
	id             uint64
	state          State
	low, high      uint64 // its stack
	sp, pc, lr, bp uint64
	m              uint64
	reason         byte // why it waits, as the runtime numbers it
}

// maxStack is the largest stack that the runtime lets a goroutine have.
const maxStack = 1 << 30

// decode reads the g of a goroutine from its bytes. It reports whether it is
// that goroutine's.
func (l *layout) decode(of Goroutine, b []byte) (gState, bool) {
	g := gState{low: Uint64(b, 0), high: Uint64(b, 8), m: Uint64(b, l.m), id: Uint64(b, l.goid)}
	status := Uint32(b, l.status) &^ statusScan
	if len(b) < l.size || Uint64(b, l.self) != of.Record || status > statusDeadExtra || g.id == 0 || g.id > 1<<48 || of.ID != 0 && g.id != of.ID {
		return gState{}, false
	}
	switch status {
	case statusRunnable, statusPreempted:
		g.state = Runnable
	case statusRunning, statusCopystack:
		// Its registers are in the processor, or its stack is being moved.
		g.state = Running
	case statusSyscall:
		g.state = Syscall
	case statusWaiting, statusLeaked:
		g.state, g.reason = Waiting, b[l.reason]
	default:
		g.state = Dead
		return g, true
	}
	if g.low >= g.high || g.high-g.low > maxStack {
		return gState{}, false
	}
	g.sp, g.pc, g.lr, g.bp = Uint64(b, l.sp), Uint64(b, l.pc), Uint64(b, l.lr), Uint64(b, l.bp)
	if g.state == Syscall {
		g.sp, g.pc, g.lr, g.bp = Uint64(b, l.sysSP), Uint64(b, l.sysPC), 0, Uint64(b, l.sysBP)
	}
	return g, true
}

// same reports whether a goroutine has not run between two copies of its g.
func (l *layout) same(before, after []byte) bool {
	return string(before[:l.stable]) == string(after[:l.stable]) &&
		Uint32(before, l.status)&^statusScan == Uint32(after, l.status)&^statusScan &&
		before[l.reason] == after[l.reason] && before[l.seq] == after[l.seq]
}

// chooseLayout finds the layout of the program's goroutines by some of them, if it
// is not known yet. It reports whether it is known.
func (p *Program) chooseLayout(gs []Goroutine) bool {
	if p.layout != nil {
		return true
	}
	there := false
	for i := range layouts {
		l := &layouts[i]
		b := make([]byte, l.size)
		for _, of := range gs {
			if of.Record == 0 || p.mem.Read(of.Record, b) != nil {
				continue
			}
			there = true
			if g, ok := l.decode(of, b); ok && p.plausible(&g) {
				p.layout, p.foreign = l, false
				return true
			}
		}
	}
	p.foreign = there
	return false
}

// plausible reports whether a goroutine lives, and is where it can be: on its
// stack, in a function. Where one that runs is, is not in its g.
func (p *Program) plausible(g *gState) bool {
	switch g.state {
	case Running:
		return true
	case Dead:
		return false
	}
	_, ok := p.find(g.pc)
	return ok && g.sp >= g.low && g.sp <= g.high
}

// thread returns the number of the thread on which g runs, or 0.
func (p *Program) thread(g *gState) int {
	var b [8]byte
	if g.m == 0 || p.mem.Read(g.m+uint64(p.layout.procid), b[:]) != nil {
		return 0
	}
	if id := Uint64(b[:], 0); id < 1<<31 {
		return int(id)
	}
	return 0
}

package goinspect

// This file reads what the runtime keeps of a goroutine, its g. Its layout is no
// promise of Go's; it is known for the versions below, and every g is checked
// before it is believed. TestLayout compares it with what the toolchain in use
// says of itself, so that a release of Go that changes it fails there.

// A State is what a goroutine is doing.
type State uint8

const (
	Unknown  State = iota // it could not be read, or is no goroutine
	Runnable              // it could run
	Running               // it has a processor
	Syscall               // it is in a system call
	Waiting               // it is parked
	Dead                  // it has ended, or has not begun
)

// String gives the state in a word.
func (s State) String() string {
	return [...]string{"unknown", "runnable", "running", "syscall", "waiting", "dead"}[s]
}

// layout is where things stand in the runtime's g and m.
type layout struct {
	m, sp, pc, self, lr, bp int // in g
	sysSP, sysPC, sysBP     int
	status, goid            int
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

// layoutOf gives the layout of a version of Go. Up to 1.24 the runtime's gobuf
// had one word more. An unknown version is taken for the newest one known.
func layoutOf(version string) layout {
	gobuf := 48
	if n := minor(version); n >= 0 && n <= 24 {
		gobuf = 56
	}
	s := 56 + gobuf
	return layout{
		m: 48, sp: 56, pc: 64, self: 72, lr: s - 16, bp: s - 8,
		sysSP: s, sysPC: s + 8, sysBP: s + 16, status: s + 40, goid: s + 48,
		procid: 16 + gobuf, size: s + 56, stable: s,
	}
}

// A goroutine is one g as it was read.
type goroutine struct {
	id             uint64
	state          State
	low, high      uint64 // its stack
	sp, pc, lr, bp uint64
	m              uint64
}

// maxStack is the largest stack that the runtime lets a goroutine have.
const maxStack = 1 << 30

// decode reads a g from its bytes, at the address at. It reports whether that is
// a g.
func (l *layout) decode(at uint64, b []byte) (goroutine, bool) {
	g := goroutine{low: word(b, 0), high: word(b, 8), m: word(b, l.m), id: word(b, l.goid)}
	status := half(b, l.status) &^ statusScan
	if len(b) < l.size || word(b, l.self) != at || status > statusDeadExtra || g.id == 0 || g.id > 1<<48 {
		return goroutine{}, false
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
		g.state = Waiting
	default:
		g.state = Dead
		return g, true
	}
	if g.low >= g.high || g.high-g.low > maxStack {
		return goroutine{}, false
	}
	g.sp, g.pc, g.lr, g.bp = word(b, l.sp), word(b, l.pc), word(b, l.lr), word(b, l.bp)
	if g.state == Syscall {
		g.sp, g.pc, g.lr, g.bp = word(b, l.sysSP), word(b, l.sysPC), 0, word(b, l.sysBP)
	}
	return g, true
}

// thread gives the number of the thread on which g runs, or 0.
func (p *Program) thread(g *goroutine) int {
	var b [8]byte
	if g.m == 0 || p.mem.Read(g.m+uint64(p.layout.procid), b[:]) != nil {
		return 0
	}
	if id := word(b[:], 0); id < 1<<31 {
		return int(id)
	}
	return 0
}

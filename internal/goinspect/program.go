package goinspect

import (
	"bytes"
	"errors"
)

// A Program is a Go program whose memory is read. It is for one goroutine at a
// time.
type Program struct {
	// Version is the version of Go that it was built with, such as "go1.26.8"; ""
	// if it is not known.
	Version string

	mem      Memory
	modules  []*module
	code     *Chunks            // of what never changes: tables and names
	layout   *layout            // of its goroutines; nil until one was read by it
	foreign  bool               // no known layout fitted its goroutines
	switchAt uint64             // see findSwitch; 0 until it is known
	allgs    uint64             // where the slice of all goroutines stands; 0 until it is known
	reasons  []string           // the runtime's words for why goroutines wait; nil until they were looked for
	frames   map[uint64][]Frame // by the address of the instruction
	funcs    map[uint64]Frame   // that Func has returned, by the same
	steps    map[uint64]step    // of unwinding, by the address of the instruction
	stacks   map[string][]Frame // by the addresses of all its calls
	kept     int                // how many frames those are
	calls    call               // the root of the tree of them
	known    int                // how many calls the tree has
	key      []byte             // of the stack that was looked up last
	scratch  scratch
}

// oldest is the first release of Go 1 whose function tables are understood.
const oldest = 20

// ErrNotGo says that there is no Go program that can be read.
var ErrNotGo = errors.New("not a Go program, or built with Go before 1.20")

// ErrNarrow says that the program is for a 32-bit processor.
var ErrNarrow = errors.New("a 32-bit program, and only 64-bit ones are understood")

// Open looks for a Go program in m. It fails if there is none, or one of before Go
// 1.20, or for a 32-bit processor. A program of a release that this package does not know opens
// too, and lacks what Missing says.
func Open(m Memory) (*Program, error) {
	p := &Program{
		mem: m, code: NewChunks(m),
		frames: make(map[uint64][]Frame), funcs: make(map[uint64]Frame), steps: make(map[uint64]step), stacks: make(map[string][]Frame),
	}
	if narrow(m) {
		return nil, ErrNarrow
	}
	p.modules = p.findModules()
	if c, ok := m.(*core); ok {
		if err := c.checkModules(p.modules); err != nil {
			return nil, err
		}
	}
	p.Version = version(m)
	if len(p.modules) == 0 && minor(p.Version) < oldest {
		return nil, ErrNotGo
	}
	return p, nil
}

// narrow reports whether a program's file says that it is for a 32-bit processor. Its
// header is mapped in front of its code, at the lowest addresses.
func narrow(m Memory) bool {
	const headers, class, class32 = 8, 4, 1
	seen := 0
	for _, r := range m.Regions() {
		var b [class + 1]byte
		if !r.File || m.Read(r.Start, b[:]) != nil {
			continue
		}
		if string(b[:class]) == "\x7fELF" {
			return b[class] == class32
		}
		if seen++; seen == headers {
			break
		}
	}
	return false
}

// Memory returns the memory that is read.
func (p *Program) Memory() Memory { return p.mem }

// Names reports whether functions and types have names.
func (p *Program) Names() bool { return len(p.modules) > 0 }

// Missing says in a sentence what cannot be read because the release of Go that
// built the program is not known; "" if nothing. What concerns stacks is known
// after the first call of Stacks.
func (p *Program) Missing() string {
	what := ""
	switch {
	case !p.Names():
		what = "function names and stacks"
	case p.foreign || !p.inlines():
		what = "stacks"
	default:
		return ""
	}
	by := p.Version
	if by == "" {
		by = "an unknown Go"
	}
	return what + " are missing: this tool does not know the runtime of " + by + "; update the tool"
}

// inlines reports whether the tables of inlined calls were found in each module.
func (p *Program) inlines() bool {
	for _, m := range p.modules {
		if m.gofunc == 0 {
			return false
		}
	}
	return len(p.modules) > 0
}

// Search returns the addresses in the program's initialised data, multiples of 8,
// at which the bytes of pattern stand.
func (p *Program) Search(pattern []byte) []uint64 {
	var found []uint64
	last := uint64(0)
	scan(p.mem, func(r Region) bool { return r.Writable }, func(at uint64, b []byte) {
		for i := 0; ; {
			j := bytes.Index(b[i:], pattern)
			if j < 0 {
				return
			}
			if a := at + uint64(i+j); a%8 == 0 && a != last {
				found = append(found, a)
				last = a
			}
			i += j + 1
		}
	})
	return found
}

package goinspect

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// A Program is a Go program whose memory is read. It is for one goroutine at a
// time.
type Program struct {
	// Version is the version of Go that it was built with, such as "go1.26.8"; ""
	// if it is not known.
	Version string

	mem     Memory
	modules []*module
	code    *Chunks // of what never changes: tables and names
	layout  layout
	frames  map[uint64][]Frame // by the address of the instruction
	steps   map[uint64]step    // of unwinding, by the address of the instruction
	stacks  map[string][]Frame // by the addresses of all its calls
	room    []byte             // for copies of stacks
}

// Open looks for a Go program in m. It fails if there is none.
func Open(m Memory) (*Program, error) {
	p := &Program{
		mem: m, code: NewChunks(m),
		frames: make(map[uint64][]Frame), steps: make(map[uint64]step), stacks: make(map[string][]Frame),
	}
	if p.modules = findModules(m, p.code); len(p.modules) == 0 {
		return nil, errors.New("it is no Go program, or one of before Go 1.20")
	}
	p.Version = version(m)
	p.layout = layoutOf(p.Version)
	return p, nil
}

// Memory gives the memory that is read.
func (p *Program) Memory() Memory { return p.mem }

// Search gives the addresses in the program's initialised data, multiples of 8,
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

// minor gives the second number of a version such as "go1.26.8", or -1.
func minor(version string) int {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return -1
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return -1
	}
	return n
}

package goinspect

// The Go code in a program: for each module (the executable,
// each plugin or Go library in it) the runtime's moduledata, which names the
// tables of its functions. It looks up no symbols, so it finds stripped programs
// too.
//
// A moduledata begins with a pointer to the header of the function table, and
// its second word points just behind that header. Such a pair of words in the
// program's data, with the header's magic where the first one points, marks a
// moduledata.
//
// The front of a moduledata has not changed from Go 1.20 to 1.27; it has what
// names, lines and frame sizes need. Releases have moved what follows. So each
// known layout of that part is tried and accepted only if the tables that it
// leads to are what they must be. If none fits, the module has names but no
// stacks: without the table of inlined calls they would be wrong.

import (
	"bytes"
	"encoding/binary"
)

// A module is the Go code of one file that was linked into the program.
type module struct {
	at                                          uint64 // where its moduledata stands
	funcnames, cus, files, pcs, functions, ftab slice
	minpc, maxpc, text                          uint64
	types, etypes                               uint64
	bss                                         slice  // the variables without a value at the start
	gofunc                                      uint64 // 0 if it is not known
	arch                                        arch
}

// A slice is a table in the program's memory: n bytes at addr.
type slice struct{ addr, n uint64 }

// arch is what unwinding must know of the processor.
type arch uint8

const (
	archUnknown arch = iota
	archAMD64
	archARM64
)

// The words at the front of a moduledata, the same in all known releases.
const (
	wordFuncnames = 1
	wordCUs       = 4
	wordFiles     = 7
	wordPCs       = 10
	wordFunctions = 13
	wordFtab      = 16
	wordMinPC     = 20
	wordMaxPC     = 21
	wordText      = 22
	wordEText     = 23
	wordBSS       = 28
	wordEBSS      = 29
	wordTypes     = 37
	moduleWords   = 44
)

// A moduleLayout says which words of a moduledata hold what releases have moved.
type moduleLayout struct {
	since                  int // the first release of Go 1 that has it
	etypes, rodata, gofunc int
}

// moduleLayouts are the known ones, the newest first.
var moduleLayouts = []moduleLayout{
	{since: 27, etypes: 39, rodata: 42, gofunc: 43},
	{since: 20, etypes: 38, rodata: 39, gofunc: 40},
}

// The table of names stands behind the header of a function table, whose size
// lies between these.
const (
	leastHeader = 64
	mostHeader  = 128
)

// The header of a function table begins with this magic, in Go 1.20 and later.
var pcMagic = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0}

// maxModules bounds how many modules a program is believed to have.
const maxModules = 64

// findModules looks for modules in the program's variables, or if there are none,
// in its other data.
func (p *Program) findModules() []*module {
	found := p.modulesIn(func(r Region) bool { return r.Writable })
	if len(found) == 0 {
		found = p.modulesIn(func(r Region) bool { return !r.Writable && !r.Executable })
	}
	return found
}

func (p *Program) modulesIn(want func(Region) bool) []*module {
	var found []*module
	regions := p.mem.Regions()
	scan(p.mem, want, func(at uint64, b []byte) {
		next := Uint64(b, 0)
		for i := 0; i+moduleWords*8 <= len(b); i += 8 {
			header := next
			next = binary.LittleEndian.Uint64(b[i+8:])
			if distance := next - header; distance < leastHeader || distance > mostHeader || header == 0 {
				continue
			}
			if _, ok := regionAt(regions, header); !ok {
				continue
			}
			if m := p.moduleAt(header, b[i:i+moduleWords*8]); m != nil && len(found) < maxModules {
				m.at = at + uint64(i)
				found = append(found, m)
			}
		}
	})
	return found
}

// maxScan bounds how many bytes of a program are searched for one thing.
const maxScan = 1 << 30

// scan passes the bytes of the regions that have code in their file and that want
// chooses to look, piece by piece. Pieces overlap by the size of a moduledata, so
// that none is cut.
func scan(mem Memory, want func(Region) bool, look func(at uint64, b []byte)) {
	const piece, overlap = 1 << 20, moduleWords * 8
	buf := make([]byte, piece+overlap)
	left := uint64(maxScan)
	for _, r := range mem.Regions() {
		if !r.File || !want(r) {
			continue
		}
		for at := r.Start; at < r.End && left >= piece; at += piece {
			b := buf[:min(uint64(len(buf)), r.End-at)]
			left -= piece
			if mem.Read(at, b) != nil {
				continue
			}
			look(at, b)
		}
	}
}

// moduleAt reads the moduledata in b. It returns nil if b holds none.
func (p *Program) moduleAt(header uint64, b []byte) *module {
	h, ok := p.code.Bytes(header, 8)
	if !ok || !bytes.Equal(h[:6], pcMagic) || h[7] != 8 {
		return nil
	}
	w := func(i int) uint64 { return Uint64(b, 8*i) }
	table := func(i, size int) slice { return slice{w(i), w(i+1) * uint64(size)} }
	m := &module{
		funcnames: table(wordFuncnames, 1), cus: table(wordCUs, 4), files: table(wordFiles, 1),
		pcs: table(wordPCs, 1), functions: table(wordFunctions, 1), ftab: table(wordFtab, 8),
		minpc: w(wordMinPC), maxpc: w(wordMaxPC), text: w(wordText),
	}
	switch h[6] {
	case 1:
		m.arch = archAMD64
	case 4:
		m.arch = archARM64
	}
	for _, t := range []slice{m.funcnames, m.cus, m.files, m.pcs, m.functions, m.ftab} {
		if t.addr == 0 || t.n > 1<<32 {
			return nil
		}
	}
	if m.text > m.minpc || m.minpc >= m.maxpc || m.maxpc > w(wordEText) || m.ftab.n < 16 {
		return nil
	}
	// The first function of the table is at the lowest address.
	if first, ok := p.code.uint32(m.ftab.addr); !ok || m.text+uint64(first) != m.minpc {
		return nil
	}
	if w(wordEBSS) > w(wordBSS) {
		m.bss = slice{w(wordBSS), w(wordEBSS) - w(wordBSS)}
	}
	p.placeTypes(m, w)
	return m
}

// placeTypes finds where the module's types and the tables of its functions'
// data stand, by the first layout that fits. w is the moduledata.
func (p *Program) placeTypes(m *module, w func(int) uint64) {
	types, ok := regionAt(p.mem.Regions(), w(wordTypes))
	// The linker may lay the types over a boundary of regions that adjoin.
	for next, adjoins := types, ok; adjoins && next.File; next, adjoins = regionAt(p.mem.Regions(), types.End) {
		types.End = next.End
	}
	if ok {
		// What is read there is checked by its use, so a bound too wide does no harm.
		m.types, m.etypes = w(wordTypes), types.End
	}
	for _, l := range moduleLayouts {
		end := w(l.etypes)
		if !ok || end <= m.types || end > types.End || w(l.gofunc) < w(l.rodata) {
			continue
		}
		if m.gofunc = w(l.gofunc); p.inlinesRight(m) {
			m.etypes = end
			return
		}
	}
	m.gofunc = 0
}

// Bounds on how many functions are checked: all, or enough with inlined calls.
const (
	maxFunctions  = 1 << 20
	enoughInlined = 16
)

// inlinesRight reports whether the tables of inlined calls that m.gofunc leads to
// are such tables: each record names a function, by where a name begins. A program
// that was built without inlining has none.
func (p *Program) inlinesRight(m *module) bool {
	found := 0
	for i := uint64(0); i < m.ftab.n/8-1 && i < maxFunctions && found < enoughInlined; i++ {
		at, ok := p.code.uint32(m.ftab.addr + i*8 + 4)
		if !ok {
			return false
		}
		f, ok := p.function(m, uint64(at))
		if !ok {
			return false
		}
		tree := p.funcdata(f, inlineTree)
		if tree == 0 {
			continue
		}
		record, ok := p.code.Bytes(tree, inlineSize)
		if !ok || !p.nameBegins(m, Uint32(record, inlineName)) {
			return false
		}
		found++
	}
	return true
}

// nameBegins reports whether a name begins at an offset of m's table of names:
// each ends with a zero byte.
func (p *Program) nameBegins(m *module, off uint32) bool {
	if off == 0 || uint64(off) >= m.funcnames.n {
		return false
	}
	b, ok := p.code.Bytes(m.funcnames.addr+uint64(off)-1, 2)
	return ok && b[0] == 0 && b[1] != 0
}

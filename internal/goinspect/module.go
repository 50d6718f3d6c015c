package goinspect

// This file finds the Go code in a program: for each module (the executable,
// each plugin or Go library in it) the runtime's moduledata, which names the
// tables of its functions. Nothing is looked up by name, so stripped programs
// are found like others.
//
// A moduledata begins with a pointer to the table's header, and the second word
// points just behind that header. Such a pair of words in the program's data,
// with the header's magic where the first one points, is it.

import (
	"bytes"
	"strings"
)

// A module is the Go code of one file that was linked into the program.
type module struct {
	funcnames, cus, files, pcs, functions, ftab slice
	minpc, maxpc, text                          uint64
	types, etypes, gofunc                       uint64
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

// Where the words of a moduledata stand. They have not changed from Go 1.20 to
// 1.26.
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
	wordTypes     = 37
	wordETypes    = 38
	wordRodata    = 39
	wordGofunc    = 40
	moduleWords   = 41
)

// The table of names stands behind the header of a function table, whose size
// lies between these.
const (
	leastHeader = 64
	mostHeader  = 128
)

// The header of a function table begins with this magic, in Go 1.20 and later.
var pcMagic = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0}

// findModules looks for modules in everything that may hold initialised data.
func findModules(mem Memory, chunks *Chunks) []*module {
	var found []*module
	regions := mem.Regions()
	scan(mem, func(r Region) bool { return !r.Executable }, func(at uint64, b []byte) {
		for i := 0; i+moduleWords*8 <= len(b); i += 8 {
			header := word(b, i)
			if distance := word(b, i+8) - header; distance < leastHeader || distance > mostHeader || header == 0 {
				continue
			}
			if _, ok := regionAt(regions, header); !ok {
				continue
			}
			if m := moduleAt(chunks, header, b[i:i+moduleWords*8]); m != nil && len(found) < 64 {
				found = append(found, m)
			}
		}
	})
	return found
}

// scan gives the bytes of the file-backed regions that want chooses, piece by
// piece. Pieces overlap by what a moduledata takes, so that none is cut.
func scan(mem Memory, want func(Region) bool, look func(at uint64, b []byte)) {
	const piece, overlap = 1 << 20, moduleWords * 8
	buf := make([]byte, piece+overlap)
	for _, r := range mem.Regions() {
		if !r.File || !want(r) {
			continue
		}
		for at := r.Start; at < r.End; at += piece {
			b := buf[:min(uint64(len(buf)), r.End-at)]
			if mem.Read(at, b) != nil {
				continue
			}
			look(at, b)
		}
	}
}

// moduleAt reads the moduledata in b and checks that it is one.
func moduleAt(chunks *Chunks, header uint64, b []byte) *module {
	h, ok := chunks.Bytes(header, 8)
	if !ok || !bytes.Equal(h[:6], pcMagic) || h[7] != 8 {
		return nil
	}
	w := func(i int) uint64 { return word(b, 8*i) }
	table := func(i, size int) slice { return slice{w(i), w(i+1) * uint64(size)} }
	m := &module{
		funcnames: table(wordFuncnames, 1), cus: table(wordCUs, 4), files: table(wordFiles, 1),
		pcs: table(wordPCs, 1), functions: table(wordFunctions, 1), ftab: table(wordFtab, 8),
		minpc: w(wordMinPC), maxpc: w(wordMaxPC), text: w(wordText),
		types: w(wordTypes), etypes: w(wordETypes), gofunc: w(wordGofunc),
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
	if m.text > m.minpc || m.minpc >= m.maxpc || m.maxpc > w(wordEText) || m.gofunc < w(wordRodata) || m.ftab.n < 16 {
		return nil
	}
	return m
}

// version gives the version of Go that the program was built with, such as
// "go1.26.8", from the record that every Go program carries for go version; ""
// if it cannot be found.
func version(mem Memory) string {
	magic := []byte("\xff Go buildinf:")
	found := ""
	look := func(_ uint64, b []byte) {
		for i := bytes.Index(b, magic); i >= 0 && found == ""; {
			// At 32 stands the version, after its length.
			rest := b[i:]
			if len(rest) > 34 && rest[15]&2 != 0 {
				if n := int(rest[32]); n < 64 && len(rest) >= 33+n && strings.HasPrefix(string(rest[33:33+n]), "go") {
					found = string(rest[33 : 33+n])
				}
			}
			next := bytes.Index(b[i+1:], magic)
			if next < 0 {
				return
			}
			i += 1 + next
		}
	}
	scan(mem, func(r Region) bool { return r.Writable }, look)
	if found == "" {
		scan(mem, func(r Region) bool { return !r.Writable && !r.Executable }, look)
	}
	return found
}

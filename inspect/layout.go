package inspect

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// offsets are the table of one Rondo in the program: where the fields of its records
// are; see internal/layout. There may be several, in plugins.
type offsets struct {
	version uint32
	list    uint64 // where the slice of its loops stands
	marker  uint64 // the code of the function called marker
	home    string // the folder of its source; "" if it is not known
	offsets [layout.Count]int
	damaged bool // there can be no such records
}

// cookie is what a table begins with, as it stands in memory.
func cookie() []byte {
	b := binary.LittleEndian.AppendUint64(nil, layout.Cookie0)
	return binary.LittleEndian.AppendUint64(b, layout.Cookie1)
}

// readLayout reads the table at the given address. It reports whether it is one.
func readLayout(p *goinspect.Program, at uint64) (offsets, bool) {
	b := make([]byte, layout.AtOffsets+2*layout.Count)
	if p.Memory().Read(at, b[:layout.AtOffsets]) != nil || goinspect.Uint64(b, layout.AtSelf) != at {
		return offsets{}, false
	}
	out := offsets{version: goinspect.Uint32(b, layout.AtVersion), list: goinspect.Uint64(b, layout.AtLoops)}
	if out.version > layout.Version {
		return out, true
	}
	// The table of an older Rondo ends earlier: what it lacks stays 0.
	size := min(goinspect.Uint32(b, layout.AtSize), uint32(len(b)))
	if size < layout.AtOffsets+2*layout.Required || p.Memory().Read(at, b[:size]) != nil {
		return offsets{}, false
	}
	for i := range out.offsets {
		out.offsets[i] = int(binary.LittleEndian.Uint16(b[layout.AtOffsets+2*i:]))
		out.damaged = out.damaged || out.offsets[i] > maxRecord
	}
	for _, size := range manyRecords {
		out.damaged = out.damaged || out.offsets[size] == 0 || out.offsets[size] > maxOfMany
	}
	// The marker is a pointer to a function value, whose first word is the code.
	var code [8]byte
	if p.Memory().Read(goinspect.Uint64(b, layout.AtMarker), code[:]) != nil {
		return offsets{}, false
	}
	out.marker = goinspect.Uint64(code[:], 0)
	marker := p.Func(out.marker)
	if p.Names() && !strings.HasSuffix(marker.Func, ".marker") {
		return offsets{}, false
	}
	if i := strings.LastIndexByte(marker.File, '/'); i > 0 {
		out.home = marker.File[:i+1]
	}
	return out, true
}

// Bounds on what is believed of a program: on the size of any record, on the size of a record
// that each task has, and on the number of connections of a loop.
const (
	maxRecord = 16 << 10
	maxOfMany = 1 << 10
	maxConns  = 1 << 31

	maxServers = 1000
)

// manyRecords are the sizes of the records of which there are many.
var manyRecords = [...]int{layout.TaskSize, layout.ExtraSize, layout.WorkerSize, layout.ListSize, layout.ScopeSize, layout.TimerSize, layout.NestedSize, layout.SelectionSize, layout.PlaceSize}

// holds reports whether a file of source is one of package rondo, or of the packages
// that the program calls.
func (n *offsets) holds(file string) bool {
	rest, ok := strings.CutPrefix(file, n.home)
	if n.home == "" || !ok || strings.HasSuffix(rest, "_test.go") {
		return false
	}
	folder, _, deeper := strings.Cut(rest, "/")
	return !deeper || slices.Contains(packages, folder) && !strings.Contains(rest, "/testdata/") && !strings.Contains(rest, "/examples/")
}

// maxLoops bounds how many loops a program is believed to have.
const maxLoops = 10_000

// loops returns the addresses of the loops.
func (n *offsets) loops(p *goinspect.Program) ([]uint64, bool) {
	var header [16]byte
	if p.Memory().Read(n.list, header[:]) != nil {
		return nil, false
	}
	count := goinspect.Uint64(header[:], 8)
	if count == 0 {
		return nil, true
	}
	if count > maxLoops {
		return nil, false
	}
	b := make([]byte, 8*count)
	if p.Memory().Read(goinspect.Uint64(header[:], 0), b) != nil {
		return nil, false
	}
	var out []uint64
	for i := range int(count) {
		if at := goinspect.Uint64(b, 8*i); at != 0 {
			out = append(out, at)
		}
	}
	return out, true
}

// A record is a copy of one of the kernel's records.
type record struct {
	layout *offsets
	b      []byte
}

func (r record) uint64(offset int) uint64 { return goinspect.Uint64(r.b, r.layout.offsets[offset]) }

// uint64At reads a word in a record that stands inside another one.
func (r record) uint64At(inner, offset int) uint64 {
	return goinspect.Uint64(r.b, r.layout.offsets[inner]+r.layout.offsets[offset])
}

// word reads the first word.
func (r record) word() uint64 { return goinspect.Uint64(r.b, 0) }

// uint16 reads half of a word; 0 if the program's Rondo is too old to have it.
func (r record) uint16(offset int) uint16 {
	if at := r.layout.offsets[offset]; at != 0 && at+2 <= len(r.b) {
		return binary.LittleEndian.Uint16(r.b[at:])
	}
	return 0
}

func (r record) uint32(offset int) uint32 { return goinspect.Uint32(r.b, r.layout.offsets[offset]) }

// conns returns the count of open connections; nil if the program's Rondo is too old to
// have one.
func (r record) conns() *int {
	n := r.uint64(layout.LoopConns)
	if r.layout.offsets[layout.LoopConns] == 0 || n > maxConns {
		return nil
	}
	open := int(n)
	return &open
}

// has reports whether the program's Rondo is new enough to have what stands at an offset.
func (r record) has(offset int) bool { return r.layout.offsets[offset] != 0 }

func (r record) byte(offset int) byte {
	if at := r.layout.offsets[offset]; at < len(r.b) {
		return r.b[at]
	}
	return 0
}

// pair reads two words, such as a string or an interface.
func (r record) pair(offset int) (uint64, uint64) {
	at := r.layout.offsets[offset]
	return goinspect.Uint64(r.b, at), goinspect.Uint64(r.b, at+8)
}

// The states of a task, as the kernel numbers them.
const (
	stateNew     = 0
	stateRunning = 2
	stateWaiting = 3
	stateDone    = 4
)

var states = [...]string{"new", "ready", "running", "waiting"}

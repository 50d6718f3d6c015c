package inspect

import (
	"encoding/binary"
	"strings"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/window"
)

// A pane is the table of one Rondo in the program; see package window. There may
// be several, in plugins.
type pane struct {
	version uint32
	list    uint64 // where the slice of its loops stands
	offsets [window.Count]int
}

// cookie is what a table begins with, as it stands in memory.
func cookie() []byte {
	b := binary.LittleEndian.AppendUint64(nil, window.Cookie0)
	return binary.LittleEndian.AppendUint64(b, window.Cookie1)
}

// readPane reads the table at the given address. It reports whether it is one.
func readPane(p *goinspect.Program, at uint64) (pane, bool) {
	b := make([]byte, window.AtOffsets+2*window.Count)
	if p.Memory().Read(at, b[:window.AtOffsets]) != nil || word(b, window.AtSelf) != at {
		return pane{}, false
	}
	out := pane{version: half(b, window.AtVersion), list: word(b, window.AtLoops)}
	if out.version > window.Version {
		return out, true
	}
	if half(b, window.AtSize) < uint32(len(b)) || p.Memory().Read(at, b) != nil {
		return pane{}, false
	}
	for i := range out.offsets {
		out.offsets[i] = int(binary.LittleEndian.Uint16(b[window.AtOffsets+2*i:]))
	}
	// The marker is a pointer to a function value, whose first word is the code.
	var code [8]byte
	if p.Memory().Read(word(b, window.AtMarker), code[:]) != nil || !strings.HasSuffix(p.Func(word(code[:], 0)).Func, ".marker") {
		return pane{}, false
	}
	return out, true
}

// maxLoops bounds how many loops a program is believed to have.
const maxLoops = 10_000

// loops gives the addresses of the loops.
func (n *pane) loops(p *goinspect.Program) ([]uint64, bool) {
	var header [16]byte
	if p.Memory().Read(n.list, header[:]) != nil {
		return nil, false
	}
	count := word(header[:], 8)
	if count == 0 {
		return nil, true
	}
	if count > maxLoops {
		return nil, false
	}
	b := make([]byte, 8*count)
	if p.Memory().Read(word(header[:], 0), b) != nil {
		return nil, false
	}
	var out []uint64
	for i := range int(count) {
		if at := word(b, 8*i); at != 0 {
			out = append(out, at)
		}
	}
	return out, true
}

// A record is a copy of one of the kernel's records.
type record struct {
	pane *pane
	b    []byte
}

func (r record) word(offset int) uint64 { return word(r.b, r.pane.offsets[offset]) }

func (r record) half(offset int) uint32 { return half(r.b, r.pane.offsets[offset]) }

func (r record) byte(offset int) byte {
	if at := r.pane.offsets[offset]; at < len(r.b) {
		return r.b[at]
	}
	return 0
}

// pair reads two words, such as a string or an interface.
func (r record) pair(offset int) (uint64, uint64) {
	at := r.pane.offsets[offset]
	return word(r.b, at), word(r.b, at+8)
}

// word reads the 64-bit word at b[at:]; 0 if it is not there.
func word(b []byte, at int) uint64 {
	if at < 0 || at+8 > len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[at:])
}

// half reads the 32-bit word at b[at:]; 0 if it is not there.
func half(b []byte, at int) uint32 {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return binary.LittleEndian.Uint32(b[at:])
}

package goinspect

import "strings"

// The names of types: an interface value in memory leads to the runtime's
// description of the type that it holds; see internal/abi.Type.

const (
	typeFlags = 20
	typeName  = 40
	typeSize  = 48
	extraStar = 2 // the name has a star in front that is not the type's
)

// TypeName returns the name of the type whose description stands at addr, such as
// "*net.TCPAddr"; "" if there is none. An interface without methods begins with
// that address.
func (p *Program) TypeName(addr uint64) string {
	for _, m := range p.modules {
		if addr < m.types || addr >= m.etypes {
			continue
		}
		b, ok := p.code.Bytes(addr, typeSize)
		if !ok {
			return ""
		}
		at := m.types + uint64(Uint32(b, typeName))
		if at >= m.etypes {
			return ""
		}
		// A name is a byte of flags, its length as a varint, and itself.
		r := bytesAt{chunks: p.code, addr: at + 1, left: 5}
		n, ok := r.varint()
		if !ok || n > 4096 {
			return ""
		}
		name, ok := p.code.Bytes(r.addr, int(n))
		if !ok {
			return ""
		}
		if b[typeFlags]&extraStar != 0 {
			return Printable(strings.TrimPrefix(string(name), "*"))
		}
		return Printable(string(name))
	}
	return ""
}

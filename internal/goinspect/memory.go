// Package goinspect reads Go programs from their memory: a live process, which it
// neither stops nor asks, a core file, or the calling process itself.
//
// It knows nothing of Rondo. It finds the program's function tables, names and
// lines (module.go, function.go), reads what the runtime keeps of a goroutine
// (goroutine.go), and reads its stack (unwind.go, walker.go). It reads nothing of a
// live process but its memory, so the program's file may be stripped, deleted or in
// another mount namespace.
//
// The law of the package: what comes from the other program's memory may be
// damaged, half written or gone, and is never trusted. Every address is read
// through a Memory, which fails instead of faulting; every index is checked
// against what it indexes; every walk is bounded. Damage costs an answer, never
// a panic and never an endless loop (FuzzDamage).
//
// Programs of Go 1.20 and later on little-endian 64-bit processors are
// understood, amd64 and arm64 with stacks.
package goinspect

import (
	"encoding/binary"
	"errors"
	"slices"
)

// A Memory is the memory of a program.
type Memory interface {
	// Read fills b with what stands at addr, wholly or not at all.
	Read(addr uint64, b []byte) error
	// ReadMany serves each request on its own, in as few calls of the system as
	// it can.
	ReadMany(requests []Request)
	// Regions returns what is mapped, in the order of the addresses.
	Regions() []Region
	// Close releases what the Memory holds.
	Close() error
}

// A Request is one read among many.
type Request struct {
	Addr uint64
	Data []byte // filled if OK
	OK   bool
}

// A Region is a stretch of memory with one use.
type Region struct {
	Start, End uint64
	Writable   bool
	Executable bool
	// File says that it holds a part of a file that has code, the program or a
	// library, or did before it was written. Nothing else is searched: a database
	// that the program has mapped stays as it is.
	File bool
}

// errUnmapped says that nothing stands at an address.
var errUnmapped = errors.New("goinspect: no memory at this address")

// Errors of a Memory's Check, if it has one: what was read is of no one program.
var (
	ErrEnded    = errors.New("goinspect: the process has ended")
	ErrReplaced = errors.New("goinspect: the process runs another program")
)

// regionAt returns the region in which addr lies. regions are sorted.
func regionAt(regions []Region, addr uint64) (Region, bool) {
	i, exact := slices.BinarySearchFunc(regions, addr, func(r Region, a uint64) int {
		switch {
		case r.End <= a:
			return -1
		case r.Start > a:
			return 1
		}
		return 0
	})
	if !exact {
		return Region{}, false
	}
	return regions[i], true
}

// Uint64 reads the 64-bit word at b[at:]; 0 if it is not there.
func Uint64(b []byte, at int) uint64 {
	if at < 0 || at+8 > len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[at:])
}

// Uint32 reads the 32-bit word at b[at:]; 0 if it is not there.
func Uint32(b []byte, at int) uint32 {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return binary.LittleEndian.Uint32(b[at:])
}

//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/goinspect"
)

const pageSize = 4096

// opened opens a program of which only the memory is there.
func opened(t testing.TB, m goinspect.Memory) *inspect.Target {
	t.Helper()
	target, err := inspect.OpenMemory(m)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// An image is the memory of a program as far as it was ever read, page by page.
// While it has a source it copies from there what it does not have yet; without
// one it is all that there is.
type image struct {
	source  goinspect.Memory
	regions []goinspect.Region
	pages   map[uint64][]byte
	order   []uint64 // the pages' addresses, in the order of their first reading
}

func newImage(source goinspect.Memory) *image {
	return &image{source: source, regions: source.Regions(), pages: make(map[uint64][]byte)}
}

var errNotThere = errors.New("not in the image")

func (i *image) page(addr uint64) []byte {
	if p, ok := i.pages[addr]; ok {
		return p
	}
	if i.source == nil {
		return nil
	}
	p := make([]byte, pageSize)
	if i.source.Read(addr, p) != nil {
		p = nil
	}
	i.pages[addr] = p
	i.order = append(i.order, addr)
	return p
}

func (i *image) Read(addr uint64, b []byte) error { return readPages(i.page, addr, b) }

// readPages fills b from pages of memory.
func readPages(page func(addr uint64) []byte, addr uint64, b []byte) error {
	for len(b) > 0 {
		off := addr % pageSize
		p := page(addr - off)
		if p == nil {
			return errNotThere
		}
		n := copy(b, p[off:])
		b, addr = b[n:], addr+uint64(n)
	}
	return nil
}

func (i *image) ReadMany(requests []goinspect.Request) { readEach(i.Read, requests) }

func readEach(read func(uint64, []byte) error, requests []goinspect.Request) {
	for j := range requests {
		requests[j].OK = read(requests[j].Addr, requests[j].Data) == nil
	}
}

func (i *image) Regions() []goinspect.Region { return i.regions }

func (i *image) Close() error { return nil }

// A damaged image differs from another in some pages, and from one read to the
// next.
type damaged struct {
	*image
	pages   map[uint64][]byte // nil: it cannot be read
	later   []change          // damage that comes while it is read
	regions []goinspect.Region
	reads   int
	bytes   int
	seen    func(addr uint64, size int) // called at each read, if it is set
}

// A change is damage that comes after so many reads.
type change struct {
	after int
	do    func()
}

// enough is how much reading of a damaged image is too much: a reader that goes
// round in it comes here.
const enough = 5_000_000

func (d *damaged) page(addr uint64) []byte {
	if p, ok := d.pages[addr]; ok {
		return p
	}
	return d.image.page(addr)
}

func (d *damaged) Read(addr uint64, b []byte) error {
	if d.reads++; d.reads > enough {
		panic("the reader does not come to an end")
	}
	d.bytes += len(b)
	for len(d.later) > 0 && d.later[0].after <= d.reads {
		d.later[0].do()
		d.later = d.later[1:]
	}
	if d.seen != nil {
		d.seen(addr, len(b))
	}
	return readPages(d.page, addr, b)
}

func (d *damaged) ReadMany(requests []goinspect.Request) { readEach(d.Read, requests) }

func (d *damaged) Regions() []goinspect.Region { return d.regions }

// writable returns a copy of a page, to be damaged.
func (d *damaged) writable(addr uint64) []byte {
	p := slices.Clone(d.page(addr))
	if p == nil {
		p = make([]byte, pageSize)
	}
	d.pages[addr] = p
	return p
}

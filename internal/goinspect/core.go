package goinspect

// ELF core files, as the kernel and gcore write them; see core(5)
// and elf(5). A core need not contain what the program's file contains, code and
// constants; that part is read from the file.

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// core is the memory of a program that has ended.
type core struct {
	file     *os.File
	close    func() error
	segments []segment
	regions  []Region
	threads  map[int]registers
	mapped   []mappedFile
	name     string   // of the core
	exe      string   // the program's file, if it is not where it was; "" if it is
	program  string   // the path of the program's own file
	entry    uint64   // where the program begins; 0 if that is not known
	own      *os.File // the program's own file, once it was needed
	missing  error    // why it could not be opened
	compared bool     // its first page is that of the core
}

// A segment is a stretch of memory of which the core holds the first size bytes,
// at the offset at.
type segment struct {
	Region
	at, size uint64
}

// A mappedFile is a stretch of memory that shows a file from an offset on.
type mappedFile struct {
	start, end, at uint64
	path           string
}

// OpenCore opens a core file. exe is the program's file, or "" if it is where it
// was when the program ran. A file that is shorter than its own headers say is refused
// before anything else is read of it: what it lacks would be missing from every answer.
func OpenCore(name, exe string) (Memory, error) {
	file, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	c, err := newCore(file, name, exe)
	c.close = file.Close
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// newCore reads what a core file says of itself.
func newCore(file *os.File, name, exe string) (*core, error) {
	c := &core{file: file, threads: make(map[int]registers), name: name, exe: exe}
	return c, c.load(name)
}

func (c *core) load(name string) error {
	if err := c.checkWhole(); err != nil {
		return err
	}
	e, err := elf.NewFile(c.file)
	if err != nil || e.Type != elf.ET_CORE {
		return fmt.Errorf("%s is not an ELF core file", name)
	}
	if e.Class != elf.ELFCLASS64 || e.Data != elf.ELFDATA2LSB {
		return fmt.Errorf("%s is the core of a 32-bit or big-endian program", name)
	}
	for _, p := range e.Progs {
		switch p.Type {
		case elf.PT_LOAD:
			c.segments = append(c.segments, segment{Region{
				Start: p.Vaddr, End: p.Vaddr + p.Memsz,
				Writable: p.Flags&elf.PF_W != 0, Executable: p.Flags&elf.PF_X != 0,
			}, p.Off, p.Filesz})
		case elf.PT_NOTE:
			if p.Filesz > 1<<28 {
				return fmt.Errorf("%s is damaged: its notes take %d bytes", name, p.Filesz)
			}
			notes, err := io.ReadAll(p.Open())
			if err != nil {
				return fmt.Errorf("%s is damaged or cut short: %w", name, err)
			}
			c.readNotes(notes, e.Machine)
		}
	}
	c.findProgram()
	if err := c.arrange(); err != nil {
		return err
	}
	return c.checkProgram()
}

// Where an ELF header of a 64-bit file says where its program headers are, how long one is and
// how many there are, and the same for its section headers; see elf(5). A core with more segments
// than a header can count has one section header, which counts them.
const (
	elfType, elfProgs, elfSections = 16, 32, 40
	elfProgSize, elfProgCount      = 54, 56
	elfSectSize, elfSectCount      = 58, 60
	elfHeader                      = 64
	progOffset, progLength         = 8, 32
	progLeast, sectLeast, sectInfo = 56, 64, 44
	uncounted                      = 0xffff
)

// checkWhole compares the size of the file with what its headers say that it has. A file that
// is no ELF core of 64 bits is left to the reader of its format.
func (c *core) checkWhole() error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	size, head := uint64(info.Size()), make([]byte, elfHeader)
	n, err := c.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	magic := []byte(elf.ELFMAG)
	if n < len(magic) || !bytes.HasPrefix(head, magic) {
		return nil
	}
	if n < elfHeader {
		return c.cut(size, elfHeader)
	}
	word := func(at int) uint64 { return uint64(binary.LittleEndian.Uint16(head[at:])) }
	if head[elf.EI_CLASS] != byte(elf.ELFCLASS64) || head[elf.EI_DATA] != byte(elf.ELFDATA2LSB) || word(elfType) != uint64(elf.ET_CORE) {
		return nil
	}
	need, count := sum(Uint64(head, elfSections), word(elfSectSize)*word(elfSectCount)), word(elfProgCount)
	if count == uncounted && word(elfSectSize) >= sectLeast {
		section := make([]byte, sectLeast)
		if _, err := c.file.ReadAt(section, int64(min(Uint64(head, elfSections), math.MaxInt64))); err != nil {
			return c.cut(size, need)
		}
		count = uint64(Uint32(section, sectInfo))
	}
	start, each := Uint64(head, elfProgs), word(elfProgSize)
	need = max(need, elfHeader, sum(start, each*count))
	if count == 0 || each < progLeast || start > size || each*count > size-start {
		return c.cutIf(size, need)
	}
	table := make([]byte, each*count)
	if _, err := c.file.ReadAt(table, int64(start)); err != nil {
		return c.cut(size, need)
	}
	for ; len(table) > 0; table = table[each:] {
		need = max(need, sum(Uint64(table, progOffset), Uint64(table, progLength)))
	}
	return c.cutIf(size, need)
}

// sum adds two numbers of a file, which may be anything.
func sum(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// cutIf is cut if the file has less than it needs.
func (c *core) cutIf(size, need uint64) error {
	if need <= size {
		return nil
	}
	return c.cut(size, need)
}

// cut is the error of a core that has size bytes, where its headers speak of need.
func (c *core) cut(size, need uint64) error {
	return fmt.Errorf("%s is cut: it has %d of the %d bytes of which its headers speak (%d %%), so nothing is said of the program; look at the limit of core files (ulimit -c) and at the disk",
		c.name, size, need, int(100*float64(size)/float64(need)))
}

// findProgram finds out which of the files is the program: the one in which it
// begins, or else the first.
func (c *core) findProgram() {
	slices.SortFunc(c.mapped, func(a, b mappedFile) int { return cmp.Compare(a.start, b.start) })
	if m, ok := c.mappedAt(c.entry); ok {
		c.program = m.path
	} else if len(c.mapped) > 0 {
		c.program = c.mapped[0].path
	}
}

// arrange makes the regions of the segments. What is mapped of the program and is
// in no segment, as gcore leaves it out, becomes one that the core has nothing of.
func (c *core) arrange() error {
	order := func(a, b segment) int { return cmp.Compare(a.Start, b.Start) }
	slices.SortFunc(c.segments, order)
	for i, s := range c.segments {
		if i > 0 && s.Start < c.segments[i-1].End || s.End < s.Start {
			return fmt.Errorf("%s is damaged: its segments overlap", c.name)
		}
	}
	var more []segment
	code := map[string]bool{c.program: true}
	for _, m := range c.mapped {
		for at := m.start; at < m.end && m.path == c.program; {
			end := m.end
			if i, in := c.segmentFrom(at); in {
				at = c.segments[i].End
				continue
			} else if i < len(c.segments) {
				end = min(end, c.segments[i].Start)
			}
			more = append(more, segment{Region: Region{Start: at, End: end}})
			at = end
		}
	}
	c.segments = append(c.segments, more...)
	slices.SortFunc(c.segments, order)
	for _, s := range c.segments {
		if m, ok := c.mappedAt(s.Start); ok && s.Executable {
			code[m.path] = true
		}
	}
	for i := range c.segments {
		s := &c.segments[i]
		m, ok := c.mappedAt(s.Start)
		s.File = ok && m.path != "" && code[m.path]
		c.regions = append(c.regions, s.Region)
	}
	return nil
}

// Notes of a core: see linux/elf.h.
const (
	notePrstatus = 1
	noteAuxv     = 6
	noteFile     = 0x46494c45
)

func (c *core) readNotes(b []byte, machine elf.Machine) {
	for len(b) >= 12 {
		names, size, kind := uint64(Uint32(b, 0)), uint64(Uint32(b, 4)), Uint32(b, 8)
		start := 12 + (names+3)&^3
		end := start + size
		if end > uint64(len(b)) {
			return
		}
		note := b[start:end]
		switch kind {
		case notePrstatus:
			c.readThread(note, machine)
		case noteAuxv:
			const entry = 9
			for i := 0; i+16 <= len(note); i += 16 {
				if Uint64(note, i) == entry {
					c.entry = Uint64(note, i+8)
				}
			}
		case noteFile:
			c.readFiles(note)
		}
		b = b[min((end+3)&^3, uint64(len(b))):]
	}
}

// readThread reads a thread's number and registers.
func (c *core) readThread(note []byte, machine elf.Machine) {
	const pid, regs = 32, 112
	r := registers{exact: true, how: "from the core's registers"}
	switch machine {
	case elf.EM_X86_64:
		r.pc, r.sp = Uint64(note, regs+16*8), Uint64(note, regs+19*8)
	case elf.EM_AARCH64:
		r.lr, r.sp, r.pc = Uint64(note, regs+30*8), Uint64(note, regs+31*8), Uint64(note, regs+32*8)
	}
	c.threads[int(Uint32(note, pid))] = r
}

// maxMapped is how many mappings a process has at most, twice over.
const maxMapped = 1 << 17

// readFiles reads which files were mapped where.
func (c *core) readFiles(note []byte) {
	n, page := Uint64(note, 0), Uint64(note, 8)
	if n > uint64(len(note))/24 || n > maxMapped {
		return
	}
	names := bytes.Split(note[min(16+24*n, uint64(len(note))):], []byte{0})
	for i := range n {
		m := mappedFile{start: Uint64(note, int(16+24*i)), end: Uint64(note, int(24+24*i)), at: Uint64(note, int(32+24*i)) * page}
		if i < uint64(len(names)) {
			m.path = string(names[i])
		}
		c.mapped = append(c.mapped, m)
	}
}

func (c *core) mappedAt(addr uint64) (mappedFile, bool) {
	i, ok := slices.BinarySearchFunc(c.mapped, addr, func(m mappedFile, a uint64) int { return place(m.start, m.end, a) })
	if !ok {
		return mappedFile{}, false
	}
	return c.mapped[i], true
}

// place compares a stretch of addresses with one address.
func place(start, end, addr uint64) int {
	switch {
	case end <= addr:
		return -1
	case start > addr:
		return 1
	}
	return 0
}

func (c *core) Regions() []Region { return c.regions }

// Close closes the core and its program's file.
func (c *core) Close() error {
	if c.own != nil {
		_ = c.own.Close()
	}
	return c.close()
}

func (c *core) Read(addr uint64, b []byte) error {
	for len(b) > 0 {
		s, ok := c.segmentAt(addr)
		if !ok {
			return errUnmapped
		}
		part := b[:min(uint64(len(b)), s.End-addr)]
		if err := c.readPart(s, addr, part); err != nil {
			return err
		}
		b = b[len(part):]
		addr += uint64(len(part))
	}
	return nil
}

func (c *core) segmentAt(addr uint64) (segment, bool) {
	i, ok := c.segmentFrom(addr)
	if !ok {
		return segment{}, false
	}
	return c.segments[i], true
}

// segmentFrom returns the place of the segment in which addr lies, or else of the
// next one. It reports whether addr lies in it.
func (c *core) segmentFrom(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(c.segments, addr, func(s segment, a uint64) int { return place(s.Start, s.End, a) })
}

// readPart reads within one segment. What the core lacks is read from the file
// that was mapped there.
func (c *core) readPart(s segment, addr uint64, b []byte) error {
	if held := s.Start + s.size; addr < held {
		n := min(uint64(len(b)), held-addr)
		if _, err := c.file.ReadAt(b[:n], int64(s.at+addr-s.Start)); err != nil {
			return fmt.Errorf("the core is cut short: %w", err)
		}
		b, addr = b[n:], addr+n
	}
	if len(b) == 0 {
		return nil
	}
	m, ok := c.mappedAt(addr)
	if !ok || m.path != c.program {
		return errUnmapped
	}
	f, err := c.executable()
	if err != nil {
		return err
	}
	n, err := f.ReadAt(b, int64(m.at+addr-m.start))
	if errors.Is(err, io.EOF) && n > 0 {
		// A mapping reaches to the end of a page, with zeros behind the file's end.
		clear(b[n:])
		return nil
	}
	return err
}

// fromCore reads only what the core itself contains.
func (c *core) fromCore(addr uint64, b []byte) error {
	s, ok := c.segmentAt(addr)
	if !ok || addr+uint64(len(b)) > s.Start+s.size {
		return errUnmapped
	}
	return c.readPart(s, addr, b)
}

func (c *core) ReadMany(requests []Request) {
	for i := range requests {
		requests[i].OK = c.Read(requests[i].Addr, requests[i].Data) == nil
	}
}

// registers returns those that a thread had when the core was written.
func (c *core) registers(thread int) (registers, bool) {
	r, ok := c.threads[thread]
	if !ok {
		return r, false
	}
	r.stack = upFrom(c, r.sp)
	return r, len(r.stack) > 0
}

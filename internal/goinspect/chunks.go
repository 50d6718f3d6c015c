package goinspect

// Copies of memory that is read again and again are kept in pieces of
// chunkSize. A copy is as old as the first read that needed it: what changes
// while it is read needs Drop in between.

const (
	chunkSize = 32 << 10
	pageSize  = 4 << 10
	// maxChunks bounds how much is kept: damage may lead anywhere.
	maxChunks = 1 << 10
)

// Chunks reads a Memory through copies. It is for one goroutine at a time.
type Chunks struct {
	mem   Memory
	kept  map[uint64][]byte
	last  uint64 // the chunk that was used last, plus one
	bytes []byte
	once  bool     // what Bytes returned is not used after the next call
	spare [][]byte // chunks that were dropped, if once is set
}

// NewChunks makes a Chunks without copies.
func NewChunks(m Memory) *Chunks {
	return &Chunks{mem: m, kept: make(map[uint64][]byte)}
}

// NewWindow makes a Chunks whose Bytes are gone at its next call, so that the room of
// chunks that are dropped can be used again.
func NewWindow(m Memory) *Chunks {
	c := NewChunks(m)
	c.once = true
	return c
}

// Drop forgets all copies.
func (c *Chunks) Drop() {
	if c.once {
		for _, b := range c.kept {
			c.spare = append(c.spare, b)
		}
	}
	clear(c.kept)
	c.last = 0
}

// Bytes returns n bytes at addr, which the caller must not change. It reports
// whether they are all there.
func (c *Chunks) Bytes(addr uint64, n int) ([]byte, bool) {
	if n < 0 || addr+uint64(n) < addr {
		return nil, false
	}
	b := c.from(addr)
	if len(b) >= n {
		return b[:n], true
	}
	// It crosses the end of a chunk.
	if n > 1<<20 {
		return nil, false
	}
	out := make([]byte, 0, n)
	for len(out) < n {
		b := c.from(addr + uint64(len(out)))
		if len(b) == 0 {
			return nil, false
		}
		out = append(out, b[:min(len(b), n-len(out))]...)
	}
	return out, true
}

// from returns what is there from addr to the end of its chunk, or less.
func (c *Chunks) from(addr uint64) []byte {
	chunk := addr / chunkSize
	if c.last != chunk+1 {
		b, ok := c.kept[chunk]
		if !ok {
			if len(c.kept) >= maxChunks {
				c.Drop()
			}
			b = c.read(chunk * chunkSize)
			c.kept[chunk] = b
		}
		c.last, c.bytes = chunk+1, b
	}
	off := addr % chunkSize
	page := off / pageSize
	b := c.bytes
	if uint64(len(b)) < chunkSize+chunkSize/pageSize {
		return nil
	}
	// After the chunk's bytes stands, for each of its pages, whether it is there.
	there := b[chunkSize:]
	if there[page] == 0 {
		return nil
	}
	end := page
	for end < chunkSize/pageSize && there[end] != 0 {
		end++
	}
	return b[off : end*pageSize]
}

// read copies a chunk, page by page if not all of it is there.
func (c *Chunks) read(start uint64) []byte {
	var b []byte
	if n := len(c.spare); n > 0 {
		b, c.spare = c.spare[n-1], c.spare[:n-1]
		clear(b)
	} else {
		b = make([]byte, chunkSize+chunkSize/pageSize)
	}
	there := b[chunkSize:]
	if c.mem.Read(start, b[:chunkSize]) == nil {
		for i := range there {
			there[i] = 1
		}
		return b
	}
	requests := make([]Request, len(there))
	for i := range requests {
		requests[i] = Request{Addr: start + uint64(i)*pageSize, Data: b[i*pageSize : (i+1)*pageSize]}
	}
	c.mem.ReadMany(requests)
	for i := range requests {
		if requests[i].OK {
			there[i] = 1
		}
	}
	return b
}

// uint32 reads the 32-bit word at addr.
func (c *Chunks) uint32(addr uint64) (uint32, bool) {
	b, ok := c.Bytes(addr, 4)
	return Uint32(b, 0), ok
}

// cstring reads a string that ends with a zero byte and is no longer than most.
func (c *Chunks) cstring(addr uint64, most int) string {
	var out []byte
	for len(out) < most {
		b := c.from(addr + uint64(len(out)))
		if len(b) == 0 {
			return ""
		}
		b = b[:min(len(b), most-len(out))]
		for i, ch := range b {
			if ch == 0 {
				return string(append(out, b[:i]...))
			}
		}
		out = append(out, b...)
	}
	return string(out)
}

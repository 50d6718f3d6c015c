package process

import (
	"fmt"
	"slices"
)

// A buffer keeps everything that is written to it.
type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// excerptMax is how much an excerpt keeps of the beginning, and of the end.
const excerptMax = 32 << 10

// An excerpt keeps the beginning and the end of what is written to it.
type excerpt struct {
	head, tail []byte
	left       int // how much was dropped between them
}

func (e *excerpt) Write(p []byte) (int, error) {
	n := len(p)
	room := min(n, excerptMax-len(e.head))
	e.head = append(e.head, p[:room]...)
	e.tail = append(e.tail, p[room:]...)
	// The tail moves only when there is as much to drop as to keep.
	if len(e.tail) > 2*excerptMax {
		e.trim()
	}
	return n, nil
}

func (e *excerpt) trim() {
	if over := len(e.tail) - excerptMax; over > 0 {
		e.left += over
		e.tail = slices.Delete(e.tail, 0, over)
	}
}

// Bytes returns the excerpt, with a line that says how much was left out.
func (e *excerpt) Bytes() []byte {
	e.trim()
	if e.left == 0 {
		return slices.Concat(e.head, e.tail)
	}
	return slices.Concat(e.head, fmt.Appendf(nil, "\n... %d bytes left out ...\n", e.left), e.tail)
}

// Package gid tells goroutines apart: which one is calling, and whether it is a
// coroutine, that is, one that iter.Pull made.
//
// Rondo needs it where an interface of the standard library leaves no room for
// a ctx: net.Conn.Read must know whether its caller is the running task. The
// answer has to cost a few nanoseconds, so on amd64 and arm64 it is read from
// the runtime's own record of the goroutine: six instructions that load the g
// register and follow frame pointers, and never write. Where the runtime keeps
// the goroutine's number in that record is not assumed but found out when the
// program starts, by looking for a number that is known from runtime.Stack; if
// it cannot be found, and on other architectures, the text of runtime.Stack is
// the slow and certain way.
package gid

import (
	"bytes"
	"fmt"
	"iter"
	"runtime"
	"strconv"
)

// ID gives the calling goroutine's number. The runtime never gives a number
// twice. It takes about 1.5 ns on amd64 and arm64, a microsecond elsewhere.
func ID() uint64 {
	if offset != 0 {
		return load(offset)
	}
	return slowID()
}

// Record gives the address of the runtime's record of the calling goroutine, for
// those who look into the program from outside; 0 on architectures other than
// amd64 and arm64. The runtime uses a record again when its goroutine has ended,
// and never frees one.
func Record() uintptr { return record() }

// Coroutine tells whether the calling goroutine was made by iter.Pull, and not
// by a go statement. It takes some 10 ns, more on a deep stack.
func Coroutine() bool {
	if walks {
		return inCorostart(entry())
	}
	_, ok := Creator()
	return ok
}

// Creator gives the number of the goroutine that made the calling coroutine by
// calling iter.Pull; false if the caller is no coroutine. It reads the text of
// the goroutine's own stack, which takes about 10 us.
func Creator() (id uint64, ok bool) {
	return creator(stackText(8<<10, false))
}

// CreatorOf is Creator for another goroutine, which must be parked. It reads the
// text of all stacks and stops the program for it, which takes about a
// microsecond for each goroutine there is.
func CreatorOf(id uint64) (maker uint64, ok bool) {
	head := fmt.Appendf(nil, "goroutine %d ", id)
	for stack := range Stacks() {
		if bytes.HasPrefix(stack, head) {
			return creator(stack)
		}
	}
	return 0, false
}

// Stacks ranges over the texts of the stacks of all goroutines, the caller's
// first, as runtime.Stack gives them. It stops the program to read them.
func Stacks() iter.Seq[[]byte] {
	return bytes.SplitSeq(stackText(1<<20, true), []byte("\n\n"))
}

// creator finds the line "created by iter.Pull[...] in goroutine N" in the
// text of a stack.
func creator(stack []byte) (id uint64, ok bool) {
	_, line, ok := bytes.Cut(stack, []byte("\ncreated by iter.Pull"))
	if !ok {
		return 0, false
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	_, number, ok := bytes.Cut(line, []byte(" in goroutine "))
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(string(bytes.TrimSpace(number)), 10, 64)
	return id, err == nil
}

// stackText gives the whole text of the calling goroutine's stack, or of all
// stacks. What is wanted may be the last line, so the buffer grows until all of
// it fits.
func stackText(size int, all bool) []byte {
	for ; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, all); n < size {
			return buf[:n]
		}
	}
}

// slowID reads the number from the first line of the stack's text,
// "goroutine N [running]:".
func slowID() uint64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("rondo: internal: runtime.Stack does not begin with a goroutine number; please report this with the Go version " + runtime.Version())
	}
	return id
}

// Package gid tells goroutines apart: which one is calling, whether it is a
// coroutine, that is, one that iter.Pull made, and which goroutine resumed it.
//
// Rondo needs it where an interface of the standard library leaves no room for
// a ctx: net.Conn.Read must know whether its caller is the running task. The
// answer has to cost a few nanoseconds, so on amd64 and arm64 it is read from
// the runtime's own record of the goroutine, which is never written. Where the
// runtime keeps the values is not assumed but found out when the program starts,
// by looking for values that are known (find.go). If one cannot be found, and on
// other architectures, the text of runtime.Stack is the slow and certain way.
package gid

import (
	"bytes"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"sync"
)

// ID returns the calling goroutine's number. The runtime never uses a number
// twice. It takes about 1.5 ns on amd64 and arm64, a microsecond elsewhere.
func ID() uint64 {
	if offset != 0 {
		return load(offset)
	}
	return slowID()
}

// Record returns the address of the runtime's record of the calling goroutine, for
// those who look into the program from outside; 0 on architectures other than
// amd64 and arm64. The runtime uses a record again when its goroutine has ended,
// and never frees one.
func Record() uintptr { return record() }

// Self returns a value that no other living goroutine has. A goroutine that is started later may
// have it again. It is quicker than ID.
func Self() uint64 {
	if readable {
		return uint64(record())
	}
	return slowID()
}

// Coroutine reports whether the calling goroutine was made by iter.Pull, and not
// by a go statement.
func Coroutine() bool {
	if walks {
		return isCoroutine(record())
	}
	for range makers {
		return true
	}
	return false
}

// Resumers ranges over the numbers of the goroutines that wait for the calling
// coroutine: the one that resumed it, then, if that is a coroutine too, the one
// that resumed that, and so on. There is none if the caller is no coroutine.
//
// It takes a few nanoseconds for each. On architectures other than amd64 and arm64
// it ranges over the makers instead: the goroutine that made the coroutine, and so
// on. That takes about 10 us for the first, and stops the program to find the
// second.
func Resumers() iter.Seq[uint64] {
	if !walks {
		return makers
	}
	return func(yield func(uint64) bool) {
		for r := record(); isCoroutine(r); {
			r = resumer(r)
			if !yield(uint64(word(r + offset))) {
				return
			}
		}
	}
}

// ResumedBy reports whether a goroutine of which member is true resumed the calling
// coroutine, or the one that resumed that, and so on. A chain can be long, and be one
// that has no member: now and then stop is asked, and ends the search if it is true.
func ResumedBy(member, stop func(id uint64) bool) bool {
	n := 0
	for id := range Resumers() {
		if member(id) {
			return true
		}
		if n++; n%32 == 0 && stop(id) {
			return false
		}
	}
	return false
}

// makers is Resumers by the text of stacks.
func makers(yield func(uint64) bool) {
	id := ID()
	maker := makerOf(id, func() []byte { return stackText(8<<10, false) })
	for maker != 0 && yield(maker) {
		id = maker
		maker = makerOf(id, func() []byte {
			head := fmt.Appendf(nil, "goroutine %d ", id)
			for stack := range Stacks() {
				if bytes.HasPrefix(stack, head) {
					return stack
				}
			}
			return nil
		})
	}
}

// known has the makers of goroutines that were asked for, 0 for those that are no
// coroutines. The answers never change, so when there are many they are dropped.
var known struct {
	sync.Mutex
	makers map[uint64]uint64
}

// makerOf returns which goroutine made the coroutine with the given number, or 0
// if that is no coroutine. text returns the text of its stack.
func makerOf(id uint64, text func() []byte) uint64 {
	known.Lock()
	maker, ok := known.makers[id]
	known.Unlock()
	if ok {
		return maker
	}
	maker = creator(text())
	known.Lock()
	defer known.Unlock()
	if known.makers == nil || len(known.makers) >= 10_000 {
		known.makers = make(map[uint64]uint64)
	}
	known.makers[id] = maker
	return maker
}

// Stack returns the text of the calling goroutine's stack, as runtime.Stack writes it.
func Stack() string { return string(stackText(1<<12, false)) }

// Stacks ranges over the texts of the stacks of all goroutines, the caller's
// first, as runtime.Stack writes them. It stops the program to read them.
func Stacks() iter.Seq[[]byte] {
	return bytes.SplitSeq(stackText(1<<20, true), []byte("\n\n"))
}

// creator finds the line "created by iter.Pull[...] in goroutine N" in the
// text of a stack, and returns N, or 0.
func creator(stack []byte) uint64 {
	_, line, _ := bytes.Cut(stack, []byte("\ncreated by iter.Pull"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	_, number, _ := bytes.Cut(line, []byte(" in goroutine "))
	id, err := strconv.ParseUint(string(bytes.TrimSpace(number)), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// stackText returns the whole text of the calling goroutine's stack, or of all
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

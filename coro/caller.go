package coro

// This file finds out who is calling, where the answer decides between waiting
// and a deadlock: somebody wants to run a coroutine that is being run. A
// goroutine outside waits for its turn. The coroutine itself, or one that it
// has resumed and waits for, would wait for ever.
//
// Go does not tell a goroutine who it is, and asking on every resume what is
// needed so rarely would be a waste. So nothing is recorded on the way in. The
// goroutine of every coroutine has the function host at the foot of its stack,
// with the coroutine's number as its first argument, and the text of
// runtime.Stack shows the arguments of each call: a goroutine reads there which
// coroutine it is. TestCallerKnown fails if a Go release or an architecture
// shows them otherwise.
//
// Who resumed a coroutine is not recorded either. It is asked: the coroutine
// pauses, and the goroutine that waits for it, awake for the moment, finds out
// in the same way who it is, asks its own resumer if need be, and resumes the
// coroutine with the answer. No code of the user runs in between.
//
// What cannot be seen is a coroutine of another make in between, a bare
// iter.Pull or a goroutine that the coroutine waits for. Such a circle hangs,
// as it does with a mutex.

import (
	"bytes"
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// Where a caller stands, seen from a coroutine.
type place int

const (
	elsewhere place = iota // it is not inside the coroutine
	itself                 // it is the coroutine
	below                  // it is inside a coroutine that this one waits for
)

// caller tells where the calling goroutine stands, seen from r.
func (r *routine) caller() place {
	switch me := current(); {
	case me == nil:
		return elsewhere
	case me == r:
		return itself
	case me.ask(r):
		return below
	}
	return elsewhere
}

// ask tells whether the goroutine that waits for r is inside the coroutine
// asked, or is it. The caller is r's goroutine.
func (r *routine) ask(asked *routine) bool {
	if !r.floor.TryLock() {
		// Another goroutine is speaking for r, and so has paused it: nobody
		// waits for it while this one goes on.
		return false
	}
	defer r.floor.Unlock()
	r.question = asked
	r.pause(unit{})
	return r.answer
}

// host is the first function on a coroutine's goroutine. It exists to be found
// there, so it must be neither inlined nor rid of its first argument.
//
//go:noinline
func host(number uintptr, r *routine) {
	enlist(number, r)
	defer r.finish()
	r.self.perform()
	r.returned = true
	runtime.KeepAlive(number)
}

// hostName is how a line of a stack's text begins that shows a call of host.
var hostName = sync.OnceValue(func() []byte {
	f := runtime.FuncForPC(reflect.ValueOf(host).Pointer())
	return []byte("\n" + f.Name() + "(")
})

// current gives the coroutine that the calling goroutine runs, or nil.
func current() *routine {
	text := ownStack()
	_, arguments, ok := bytes.Cut(text, hostName())
	if !ok {
		return nil
	}
	if i := bytes.IndexAny(arguments, ",)"); i >= 0 {
		arguments = arguments[:i]
	}
	number, err := strconv.ParseUint(string(arguments), 0, 64)
	if err != nil {
		panic("coro: internal: the text of runtime.Stack does not show the arguments of a call; please report this with the Go version " + runtime.Version())
	}
	return find(uintptr(number))
}

// ownStack gives the text of the calling goroutine's stack. The runtime leaves
// out the middle of a very deep one, never the foot.
func ownStack() []byte {
	buf := make([]byte, 8<<10)
	for {
		n := runtime.Stack(buf, false)
		if n < len(buf) {
			return buf[:n]
		}
		buf = make([]byte, 2*len(buf))
	}
}

// numbers is the number given out last. A number is never given twice.
var numbers atomic.Uintptr

// The roll lists the coroutines that have a goroutine, by number: those that
// have begun and are not dead. It is in parts, so that goroutines that make
// coroutines at the same time seldom meet.
var roll [64]struct {
	mu   sync.Mutex
	list map[uintptr]*routine
	_    [48]byte // a cache line each
}

func enlist(number uintptr, r *routine) {
	part := &roll[number%uintptr(len(roll))]
	part.mu.Lock()
	if part.list == nil {
		part.list = make(map[uintptr]*routine)
	}
	part.list[number] = r
	part.mu.Unlock()
}

func strike(number uintptr) {
	part := &roll[number%uintptr(len(roll))]
	part.mu.Lock()
	delete(part.list, number)
	part.mu.Unlock()
}

func find(number uintptr) *routine {
	part := &roll[number%uintptr(len(roll))]
	part.mu.Lock()
	defer part.mu.Unlock()
	return part.list[number]
}

// Package stacks finds places in the text of a program: where a task was
// started, which function of Rondo a caller has called, and which line of the
// user's code holds a loop.
//
// The law: the place that is shown is the innermost one that is the user's own,
// not one of Rondo or of what lies below it.
package stacks

import (
	"fmt"
	"iter"
	"runtime"
	"strings"
)

// A Site is a stack, as it was when Here was called.
type Site [24]uintptr

// Here returns the caller's stack. It takes a microsecond or two.
func Here() *Site {
	s := new(Site)
	runtime.Callers(2, s[:])
	return s
}

// String returns the place in the user's part of the program, as file:line, or
// "" for a nil Site.
func (s *Site) String() string {
	if s == nil {
		return ""
	}
	for f := range frames(s[:]) {
		if !own(f.Function) {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
	return ""
}

// CalledAs returns the name of the function of package rondo by which the
// calling goroutine entered that package, such as "Event.Set". It is called in
// package rondo.
func CalledAs() string {
	var pcs [32]uintptr
	name := "a call"
	for f := range frames(pcs[:runtime.Callers(2, pcs[:])]) {
		rest, ok := strings.CutPrefix(f.Function, module+".")
		if !ok {
			break
		}
		name = rest
	}
	return strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name)
}

// Entered returns the name of the function by which the calling goroutine entered
// Rondo, such as "rondo.Sleep" or "socket.Dial".
func Entered() string {
	var pcs [64]uintptr
	name := "a call"
	for f := range frames(pcs[:runtime.Callers(2, pcs[:])]) {
		if !own(f.Function) {
			break
		}
		if strings.HasPrefix(f.Function, module) {
			name = f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		}
	}
	return strings.NewReplacer("rondo.(*puller[...]).start.func1", "yield of a Pull", "(*", "", ")", "", "[...]", "").Replace(name)
}

// FuncName returns the name of the function with the given entry. The name of a
// method value, as in Go(ctx, s.run), is the method's.
func FuncName(entry uintptr) string {
	return strings.TrimSuffix(runtime.FuncForPC(entry).Name(), "-fm")
}

// frames ranges over the frames of a stack, the innermost first.
func frames(pcs []uintptr) iter.Seq[runtime.Frame] {
	return func(yield func(runtime.Frame) bool) {
		for fs := runtime.CallersFrames(pcs); ; {
			f, more := fs.Next()
			if f.PC == 0 || !yield(f) || !more {
				return
			}
		}
	}
}

const module = "github.com/rondo-go/rondo"

// own reports whether a function belongs to one of Rondo's packages for
// programs, or to the runtime below them.
func own(function string) bool {
	rest, ok := strings.CutPrefix(function, module)
	if !ok {
		return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "iter.")
	}
	if strings.HasPrefix(rest, "/internal/") {
		return !strings.Contains(rest, "_test.") // a test from outside is a user's
	}
	for _, p := range []string{".", "/socket.", "/process.", "/signals.", "/sim.", "/coro."} {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return false
}

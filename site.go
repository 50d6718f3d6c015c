package rondo

// This file finds places in a program's text: where a task was started, and
// what a caller from outside has called.

import (
	"fmt"
	"iter"
	"runtime"
	"strings"
)

// A site is a stack, as it was when a task was started.
type site [24]uintptr

// here gives the caller's site. It takes a microsecond or two.
func here() *site {
	s := new(site)
	runtime.Callers(3, s[:])
	return s
}

// String gives the place in the user's part of the program, as file:line; "" if
// there is no site.
func (s *site) String() string {
	if s == nil {
		return ""
	}
	for f := range frames(s[:]) {
		if !ours(f.Function) {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
	return ""
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

// ours tells whether a function is one of Rondo's packages for programs, or of
// the runtime below them.
func ours(function string) bool {
	rest, ok := strings.CutPrefix(function, module)
	if !ok {
		return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "iter.")
	}
	for _, p := range []string{".", "/socket.", "/process.", "/signals.", "/sim.", "/coro.", "/internal/"} {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return false
}

// calledAs gives the name of the function of package rondo by which the calling
// goroutine came in, such as "Event.Set".
func calledAs() string {
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

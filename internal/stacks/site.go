// Package stacks finds places in the text of a program: where a task was
// started, which function of Rondo a caller has called, and which line of the
// user's code holds a loop.
//
// The law: the place that is shown is the innermost one that is the user's own,
// not one of Rondo, of the standard library or of a module that the program requires.
package stacks

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
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
	return userPlace(s[:])
}

// Place returns the innermost place of the calling goroutine that is the user's own,
// as file:line, or "" if there is none near. That of "go event.Set()" is the go statement.
func Place() string {
	var pcs [64]uintptr
	if at := userPlace(pcs[:runtime.Callers(2, pcs[:])]); at != "" {
		return at
	}
	return startedAt(string(debug.Stack()))
}

// userPlace returns the innermost place of a stack that is the user's own, and if there is
// none the innermost one of a module of others, as file:line, or "".
func userPlace(pcs []uintptr) (foreign string) {
	for f := range frames(pcs) {
		place := fmt.Sprintf("%s:%d", f.File, f.Line)
		switch {
		case below(f.Function):
		case !others(f.File):
			return place
		case foreign == "":
			foreign = place
		}
	}
	return foreign
}

// OwnScope reports whether it is Rondo that has opened the innermost scope, in the call
// by which the calling goroutine entered Rondo, and not the program around that call.
func OwnScope() bool {
	var pcs [64]uintptr
	for f := range frames(pcs[:runtime.Callers(2, pcs[:])]) {
		switch strings.TrimPrefix(f.Function, module) {
		case ".Group", ".Timeout", ".Deadline", ".Shield":
			return true
		}
		if !below(f.Function) {
			return false
		}
	}
	return true // a task of Rondo's own
}

// CalledAs returns the name of the exported function of Rondo by which the calling
// goroutine entered Rondo, such as "Event.Set" or "socket.Conn.Read".
func CalledAs() string {
	var pcs [32]uintptr
	name := "a call"
	for f := range frames(pcs[:runtime.Callers(2, pcs[:])]) {
		rest, ok := strings.CutPrefix(f.Function, module)
		if !ok || !Own(f.Function) {
			break
		}
		if called := plain(rest); exported(called) {
			name = called
		}
	}
	return name
}

// plain returns the name of a function as a program writes it, with the package
// unless that is rondo. A closure has the name of the function that it is in.
func plain(function string) string {
	function, _, _ = strings.Cut(strings.TrimLeft(function, "./"), ".func")
	return strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(function)
}

// exported reports whether a program can call what has the given name.
func exported(name string) bool {
	parts := strings.Split(name, ".")
	if slices.Contains(packages, "/"+parts[0]+".") {
		parts = parts[1:]
	}
	return !slices.ContainsFunc(parts, func(part string) bool { return part == "" || !unicode.IsUpper(rune(part[0])) })
}

// Entered returns the name of the function by which the calling goroutine entered
// Rondo, such as "rondo.Sleep" or "socket.Dial".
func Entered() string {
	var pcs [64]uintptr
	name := "a call"
	for f := range frames(pcs[:runtime.Callers(2, pcs[:])]) {
		if !Own(f.Function) {
			break
		}
		if strings.HasPrefix(f.Function, module) {
			name = f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		}
	}
	return strings.NewReplacer("rondo.(*source[...]).run.func1", "yield of a Pull", "(*", "", ")", "", "[...]", "").Replace(name)
}

// FuncName returns the name of the function with the given entry. The name of a
// method value, as in Go(ctx, s.run), is the method's.
func FuncName(entry uintptr) string {
	return strings.TrimSuffix(runtime.FuncForPC(entry).Name(), "-fm")
}

// Declared returns the name of the function with the given entry, and the place where it
// is declared, as "name at file:line"; "" if entry is 0.
func Declared(entry uintptr) string {
	if entry == 0 {
		return ""
	}
	file, line := runtime.FuncForPC(entry).FileLine(entry)
	return fmt.Sprintf("%s at %s:%d", FuncName(entry), file, line)
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

// Own reports whether a function belongs to one of Rondo's packages for
// programs, or to the runtime below them.
func Own(function string) bool {
	rest, ok := strings.CutPrefix(function, module)
	if !ok {
		return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "iter.")
	}
	if strings.HasPrefix(rest, "/internal/") {
		return !strings.Contains(rest, "_test.") // a test from outside is a user's
	}
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(rest, p) })
}

// packages are Rondo's packages for programs, with those of the module nats.
var packages = []string{
	".", "/broadcast.", "/coro.", "/guest.", "/httptask.", "/inspect.", "/process.", "/shard.", "/signals.", "/sim.", "/slogtask.", "/socket.",
	"/nats.", "/nats/embed.", "/nats/internal/", "/nats/oteltask.",
}

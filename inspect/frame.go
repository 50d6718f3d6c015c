package inspect

// A stack is shown without the calls of Rondo and of the standard library below it, unless
// all are asked for.

import (
	"slices"
	"strings"
)

// module is where Rondo's own packages are.
const module = "github.com/rondo-go/rondo"

// packages are Rondo's own, besides package rondo, in folders of their names.
var packages = []string{"broadcast", "coro", "guest", "httptask", "inspect", "nats", "process", "shard", "signals", "sim", "slogtask", "socket"}

// library are the packages of the standard library whose calls lie between the
// program and a wait.
var library = []string{"runtime", "iter", "syscall", "sync", "time", "internal"}

// Own reports whether a call is the program's, and not one of Rondo or of the
// standard library below it.
func (f Frame) Own() bool {
	pkg := f.Package()
	if pkg == module || f.Rondo {
		return false
	}
	if rest, ok := strings.CutPrefix(pkg, module+"/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		return first != "internal" && !slices.Contains(packages, first) || strings.HasPrefix(rest, "nats/examples/")
	}
	for _, l := range library {
		if pkg == l || strings.HasPrefix(pkg, l+"/") {
			return false
		}
	}
	return true
}

// ofRondo reports whether a call is Rondo's.
func (f Frame) ofRondo() bool {
	pkg := f.Package()
	return f.Rondo || !f.Own() && (pkg == module || strings.HasPrefix(pkg, module+"/"))
}

// Package returns the import path of the function's package.
func (f Frame) Package() string {
	slash := strings.LastIndexByte(f.Func, '/') + 1
	// A generic function may have slashes in its brackets only after its name.
	if dot := strings.IndexByte(f.Func[slash:], '.'); dot >= 0 {
		return f.Func[:slash+dot]
	}
	return f.Func
}

// own returns those of the calls on a stack that are the program's.
func own(stack []Frame) []Frame {
	var out []Frame
	for _, f := range stack {
		if f.Own() {
			out = append(out, f)
		}
	}
	return out
}

// A Frame is one call on a stack.
type Frame struct {
	Func    string `json:"func"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Inlined bool   `json:"inlined,omitempty"`
	// Rondo says that the code is Rondo's though the function's name is the
	// program's: an iterator that was compiled into the program.
	Rondo bool `json:"rondo,omitempty"`
}

package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// The functions of Rondo, and what they do. Most of it follows from how they are
// declared, so that a new function needs no entry: a function with a ctx first waits, a
// parameter that is a function with a ctx first is a task. The tables are what differs.

const root = "github.com/rondo-go/rondo"

// ours reports whether a package is one of Rondo's that programs import.
func ours(p *types.Package) bool {
	if p == nil {
		return false
	}
	below, ok := strings.CutPrefix(p.Path(), root)
	if !ok || below != "" && below[0] != '/' || strings.HasSuffix(below, "_test") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(below, "/"), func(folder string) bool {
		return slices.Contains([]string{"internal", "cmd", "examples", "bench", "interop"}, folder)
	})
}

// nameOf returns how a program writes the name of a function: "rondo.Sleep",
// "rondo.Queue.Get", "time.Sleep".
func nameOf(fn *types.Func) string {
	if fn.Pkg() == nil {
		return fn.Name()
	}
	name := fn.Pkg().Name() + "."
	if recv := fn.Signature().Recv(); recv != nil {
		if named := namedOf(recv.Type()); named != nil {
			name += named.Obj().Name() + "."
		}
	}
	return name + fn.Name()
}

// idOf is nameOf with the path of the package: "net/http.Client.Do".
func idOf(fn *types.Func) string {
	if fn.Pkg() == nil {
		return fn.Name()
	}
	return strings.TrimSuffix(fn.Pkg().Path(), fn.Pkg().Name()) + nameOf(fn)
}

// namedOf returns the named type that t is, or points to, or nil.
func namedOf(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// isNamed reports whether t is, or points to, a type of this package and name.
func isNamed(t types.Type, path, name string) bool {
	named := namedOf(t)
	return named != nil && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

func isContext(t types.Type) bool { return isNamed(t, "context", "Context") }

// isCtx reports whether t is a ctx: a context.Context, or a *rondo.Scope, which is one.
func isCtx(t types.Type) bool { return isContext(t) || isNamed(t, root, "Scope") }

// takesCtx reports whether the first parameter of a function is a ctx.
func takesCtx(s *types.Signature) bool {
	return s.Params().Len() > 0 && isCtx(s.Params().At(0).Type())
}

func returnsError(s *types.Signature) bool {
	n := s.Results().Len()
	return n > 0 && types.Identical(s.Results().At(n-1).Type(), types.Universe.Lookup("error").Type())
}

// quick take a ctx and return an error, and do not wait.
var quick = []string{
	"rondo.Check", "socket.FileConn", "socket.FileListener", "socket.Listen", "socket.ListenPacket", "socket.ListenConfig.Listen",
	"socket.ListenConfig.ListenPacket", "rondo.Scope.Start", "socket.Protocol.Attach",
}

// mayWait reports whether a function with a ctx is one of those that may suspend: by the
// rule of package rondo those that return an error, sequences, and two more.
func mayWait(fn *types.Func) bool {
	results := fn.Signature().Results()
	sequence := results.Len() == 1 && (isNamed(results.At(0).Type(), "iter", "Seq") || isNamed(results.At(0).Type(), "iter", "Seq2"))
	return returnsError(fn.Signature()) || sequence || slices.Contains([]string{"rondo.Settle", "rondo.Pull"}, nameOf(fn))
}

// anywhere take a ctx of any kind, and may be called by any goroutine.
var anywhere = []string{
	"rondo.Run", "rondo.Runner.Run", "shard.Run", "shard.Runner.Run", "rondo.Task.Wait", "rondo.Future.Wait",
	"socket.Server.Shutdown", "socket.TLSConn.HandshakeContext", "httptask.Server.Shutdown",
}

// blocksAlone are functions that wait with a ctx of the loop, and that any goroutine may
// call as well: it blocks alone.
var blocksAlone = []string{"socket.Dial", "socket.DialTLS", "socket.Dialer.DialContext"}

// waits reports whether a function of Rondo waits with the ctx it takes. Only tasks
// may call it.
func waits(fn *types.Func) bool {
	return ours(fn.Pkg()) && takesCtx(fn.Signature()) && mayWait(fn) && !slices.Contains(quick, nameOf(fn)) && !slices.Contains(anywhere, nameOf(fn)) &&
		!handles(fn)
}

// handles reports whether a function handles log records: its ctx is there for its
// values.
func handles(fn *types.Func) bool { return fn.Pkg().Name() == "slogtask" }

// suspends reports whether a call of a function may suspend the task: waits, those
// that any goroutine may call as well, and connections.
func suspends(fn *types.Func) bool {
	switch idOf(fn) {
	case "net.Conn.Read", "net.Conn.Write", "net.Listener.Accept":
		return true
	}
	if !ours(fn.Pkg()) || isRun(fn) {
		return false
	}
	recv := fn.Signature().Recv()
	if recv != nil && fn.Pkg().Path() == root+"/socket" && slices.Contains([]string{"Read", "Write", "Accept", "ReadFrom", "WriteTo"}, fn.Name()) {
		return !isNamed(recv.Type(), root+"/socket", "Transport")
	}
	if recv != nil && fn.Pkg().Path() == root+"/process" {
		return slices.Contains([]string{"Run", "Wait", "Output", "CombinedOutput"}, fn.Name())
	}
	return waits(fn) || slices.Contains(anywhere, nameOf(fn))
}

// loopOnly are methods without a ctx that only tasks and callbacks of the loop may call.
var loopOnly = []string{
	"rondo.Event.Set", "rondo.Event.Clear", "rondo.Cond.Signal", "rondo.Cond.Broadcast", "rondo.Mutex.Unlock",
	"rondo.Mutex.TryLock", "rondo.RWMutex.Unlock", "rondo.RWMutex.RUnlock", "rondo.RWMutex.TryLock",
	"rondo.RWMutex.TryRLock", "rondo.Semaphore.Release", "rondo.Semaphore.ReleaseN", "rondo.Semaphore.TryAcquire",
	"rondo.Semaphore.TryAcquireN", "rondo.Semaphore.Resize", "rondo.Queue.TryPut", "rondo.Queue.TryGet",
	"rondo.Queue.Close", "rondo.Queue.Abort", "rondo.Queue.TaskDone", "rondo.Barrier.Abort", "rondo.Barrier.Reset",
	"rondo.WaitList.Wake", "rondo.WaitList.WakeAll", "rondo.Loop.CallSoon", "rondo.Loop.CallLater", "rondo.Loop.CallAt",
	"rondo.Loop.Stats", "rondo.Handle.Cancel", "rondo.Go", "rondo.Async", "rondo.Scope.Go",
	"broadcast.Watch.Set", "broadcast.Watch.Close", "broadcast.Topic.TryPublish", "broadcast.Topic.Close",
}

// internals reports whether a package is part of Rondo and not for programs: it is made of
// what this package warns of.
func internals(p *types.Package) bool {
	return ours(p) || strings.HasPrefix(p.Path(), root+"/") && strings.Contains(p.Path()+"/", "/internal/") &&
		!strings.Contains(p.Path(), "/examples/")
}

// A role is what a function is for.
type role uint8

const (
	unknown   role = iota
	inline         // runs where it is written
	task           // runs as a task, or in one
	goroutine      // runs on a goroutine that is not a task
	callback       // is called by the loop and must not wait
)

// inlined are functions of the standard library that call the functions they are given
// before they return.
var inlined = []string{"slices", "sort", "maps", "strings", "bytes", "sync.Once"}

// goroutines are functions that call the ones they are given on goroutines of their own.
var goroutines = []string{
	"time.AfterFunc", "context.AfterFunc", "sync.WaitGroup.Go", "golang.org/x/sync/errgroup.Group.Go",
	"golang.org/x/sync/errgroup.Group.TryGo", "golang.org/x/sync/singleflight.Group.DoChan", root + ".Offload", root + ".OffloadFunc",
	root + "/httptask.Blocking",
}

// roleOfArgument says what a function is for that is an argument of a call of fn, for a
// parameter of type t.
func roleOfArgument(fn *types.Func, t types.Type) role {
	id := idOf(fn)
	switch {
	case slices.Contains(goroutines, id):
		return goroutine
	case ours(fn.Pkg()):
		return roleOfField(fn.Pkg(), t)
	}
	for _, name := range inlined {
		if strings.HasPrefix(id, name+".") {
			return inline
		}
	}
	return unknown
}

// roleOfField says what a function of type t is for that a package of Rondo takes, in a
// field or as an argument.
func roleOfField(p *types.Package, t types.Type) role {
	s, ok := t.Underlying().(*types.Signature)
	switch {
	case !ok || p.Name() == "coro":
		return unknown
	case takesCtx(s):
		return task
	case s.Params().Len() == 0 && s.Results().Len() == 0:
		return callback
	case s.Params().Len() > 0 && isNamed(s.Params().At(0).Type(), root+"/socket", "Transport"):
		return callback // of a socket.Protocol
	}
	return unknown
}

// calleeOf returns the function that a call calls, if that is certain but for an
// interface, or nil.
func calleeOf(info *types.Info, call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	return funcOf(info, fun)
}

// funcOf returns the declared function or method that e names, or nil.
func funcOf(info *types.Info, e ast.Expr) *types.Func {
	var fn *types.Func
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		fn, _ = info.Uses[e].(*types.Func)
	case *ast.SelectorExpr:
		fn, _ = info.Uses[e.Sel].(*types.Func)
	}
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

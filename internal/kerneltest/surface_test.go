package kerneltest_test

// A table of the exported functions that take a ctx, with the result of each for
// a ctx that belongs to no loop.

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// An outcome is what a call with a foreign ctx does.
type outcome string

const (
	fails  outcome = "returns ErrNoLoop"
	throws outcome = "panics"
	works  outcome = "works"
	nested outcome = "returns that a loop cannot run in a loop"
)

// A call is an exported function or method that takes a ctx.
type call struct {
	name    string
	inTask  outcome // in a task
	outside outcome // on a goroutine that is not a task
	says    string  // the call that the error or the panic names
	do      func(ctx context.Context, o *objects) error
}

// objects are what some of the calls are made on.
type objects struct {
	scope  *rondo.Scope
	task   *rondo.Task        // has ended
	future *rondo.Future[int] // is done

	// These are for what is not in the table; see share_test.go.
	set           rondo.Event
	queue, closed *rondo.Queue[int]
	next          func() (int, bool)
}

// errValue says that a call had an effect or a result, although its ctx is foreign.
var errValue = errors.New("there was a value")

func zero(ok bool) error {
	if !ok {
		return errValue
	}
	return nil
}

func one(context.Context) (int, error) { return 1, nil }

func nothing(context.Context) error { return nil }

// full returns a Queue with one value.
func full() *rondo.Queue[int] {
	q := rondo.NewQueue[int](1)
	q.TryPut(1)
	return q
}

var loopCalls = []call{
	{"Check", fails, fails, "Check", func(ctx context.Context, _ *objects) error { return rondo.Check(ctx) }},
	{"Checkpoint", fails, fails, "Checkpoint", func(ctx context.Context, _ *objects) error { return rondo.Checkpoint(ctx) }},
	{"Current", works, works, "", func(ctx context.Context, _ *objects) error { return zero(rondo.Current(ctx) == nil) }},
	{"LoopOf", works, works, "", func(ctx context.Context, _ *objects) error { return zero(rondo.LoopOf(ctx) == nil) }},
	{"Now", throws, throws, "Now", func(ctx context.Context, _ *objects) error { rondo.Now(ctx); return nil }},
	{"Run", nested, works, "Run", func(ctx context.Context, _ *objects) error { return rondo.Run(ctx, nothing) }},
	{"Runner.Run", nested, works, "Run", func(ctx context.Context, _ *objects) error { return new(rondo.Runner).Run(ctx, nothing) }},
	{"Sleep", fails, fails, "Sleep", func(ctx context.Context, _ *objects) error { return rondo.Sleep(ctx, 1) }},
	{"SleepUntil", fails, fails, "SleepUntil", func(ctx context.Context, _ *objects) error { return rondo.SleepUntil(ctx, time.Now()) }},
	{"Tasks", works, works, "", func(ctx context.Context, _ *objects) error { return zero(rondo.Tasks(ctx) == nil) }},
	{"WaitCanceled", fails, fails, "WaitCanceled", func(ctx context.Context, _ *objects) error { return rondo.WaitCanceled(ctx) }},
	//lint:ignore SA1019 a deprecated name works
	{"WaitCancelled", fails, fails, "WaitCancelled", func(ctx context.Context, _ *objects) error { return rondo.WaitCancelled(ctx) }},
	{"Yield", fails, fails, "Yield", func(ctx context.Context, _ *objects) error { return rondo.Yield(ctx) }},
}

var scopeCalls = []call{
	{"Contain", fails, fails, "Contain", func(ctx context.Context, _ *objects) error { return rondo.Contain(ctx, nothing) }},
	{"Deadline", fails, fails, "Deadline", func(ctx context.Context, _ *objects) error { return rondo.Deadline(ctx, time.Now(), nothing) }},
	{"Group", fails, fails, "Group", func(ctx context.Context, _ *objects) error {
		return rondo.Group(ctx, func(*rondo.Scope) error { return nil })
	}},
	{"Scope.Start", fails, fails, "Scope.Start", func(ctx context.Context, o *objects) error {
		return o.scope.Start(ctx, func(_ context.Context, started func()) error { started(); return nil })
	}},
	{"Shield", fails, fails, "Shield", func(ctx context.Context, _ *objects) error { return rondo.Shield(ctx, nothing) }},
	{"TimedOut", works, works, "", func(ctx context.Context, _ *objects) error { return zero(!rondo.TimedOut(ctx, nil)) }},
	{"Timeout", fails, fails, "Timeout", func(ctx context.Context, _ *objects) error { return rondo.Timeout(ctx, 1, nothing) }},
}

var taskCalls = []call{
	{"Async", throws, throws, "Async", func(ctx context.Context, _ *objects) error { rondo.Async(ctx, one); return nil }},
	{"Future.Wait", fails, works, "Future.Wait", func(ctx context.Context, o *objects) error { _, err := o.future.Wait(ctx); return err }},
	{"Gather", fails, fails, "Gather", func(ctx context.Context, _ *objects) error { _, err := rondo.Gather(ctx, one); return err }},
	{"Go", throws, throws, "Go", func(ctx context.Context, _ *objects) error { rondo.Go(ctx, nothing); return nil }},
	{"NewFuture", throws, throws, "NewFuture", func(ctx context.Context, _ *objects) error { rondo.NewFuture[int](ctx); return nil }},
	{"Offload", fails, fails, "Offload", func(ctx context.Context, _ *objects) error { _, err := rondo.Offload(ctx, one); return err }},
	{"OffloadFunc", fails, fails, "OffloadFunc", func(ctx context.Context, _ *objects) error { return rondo.OffloadFunc(ctx, nothing) }},
	{"Race", fails, fails, "Race", func(ctx context.Context, _ *objects) error { _, err := rondo.Race(ctx, one); return err }},
	{"Receive", fails, fails, "Receive", func(ctx context.Context, _ *objects) error {
		closed := make(chan int)
		close(closed)
		_, _, err := rondo.Receive(ctx, closed)
		return err
	}},
	{"RoundRobin.Select", fails, fails, "RoundRobin.Select", func(ctx context.Context, _ *objects) error {
		_, err := new(rondo.RoundRobin).Select(ctx, rondo.After(0))
		return err
	}},
	{"Select", fails, fails, "Select", func(ctx context.Context, _ *objects) error { _, err := rondo.Select(ctx, rondo.After(0)); return err }},
	{"Settle", fails, fails, "Settle", func(ctx context.Context, _ *objects) error { return rondo.Settle(ctx, one)[0].Err }},
	{"Task.Wait", fails, works, "Task.Wait", func(ctx context.Context, o *objects) error { return o.task.Wait(ctx) }},
	{"WaitAny", fails, fails, "WaitAny", func(ctx context.Context, o *objects) error { _, err := rondo.WaitAny(ctx, o.task); return err }},
}

var sequenceCalls = []call{
	{"AsCompleted", throws, throws, "AsCompleted", func(ctx context.Context, o *objects) error {
		for range rondo.AsCompleted(ctx, o.future) {
			return errValue
		}
		return nil
	}},
	{"Every", throws, throws, "Every", func(ctx context.Context, _ *objects) error {
		for range rondo.Every(ctx, time.Hour) {
			return errValue
		}
		return nil
	}},
	{"Map", fails, fails, "Map", func(ctx context.Context, _ *objects) error {
		for _, err := range rondo.Map(ctx, 1, slices.Values([]int{1}), double) {
			return err
		}
		return nil
	}},
	{"Pull", throws, throws, "Pull", func(ctx context.Context, _ *objects) error { rondo.Pull(ctx, slices.Values([]int{1})); return nil }},
	{"Queue.All", throws, throws, "Queue.All", func(ctx context.Context, _ *objects) error {
		for range full().All(ctx) {
			return errValue
		}
		return nil
	}},
}

var lockCalls = []call{
	{"Barrier.Wait", fails, fails, "Barrier.Wait", func(ctx context.Context, _ *objects) error { _, err := rondo.NewBarrier(1).Wait(ctx); return err }},
	{"Cond.Wait", fails, fails, "Cond.Wait", func(ctx context.Context, _ *objects) error {
		var m rondo.Mutex
		_ = m.TryLock()
		return (&rondo.Cond{L: &m}).Wait(ctx)
	}},
	{"Event.Wait", fails, fails, "Event.Wait", func(ctx context.Context, _ *objects) error { return new(rondo.Event).Wait(ctx) }},
	{"Mutex.Lock", fails, fails, "Mutex.Lock", func(ctx context.Context, _ *objects) error { return new(rondo.Mutex).Lock(ctx) }},
	{"Queue.Get", fails, fails, "Queue.Get", func(ctx context.Context, _ *objects) error { _, err := full().Get(ctx); return err }},
	{"Queue.Join", fails, fails, "Queue.Join", func(ctx context.Context, _ *objects) error { return rondo.NewQueue[int](0).Join(ctx) }},
	{"Queue.Put", fails, fails, "Queue.Put", func(ctx context.Context, _ *objects) error { return rondo.NewQueue[int](0).Put(ctx, 1) }},
	{"RWMutex.Lock", fails, fails, "RWMutex.Lock", func(ctx context.Context, _ *objects) error { return new(rondo.RWMutex).Lock(ctx) }},
	{"RWMutex.RLock", fails, fails, "RWMutex.RLock", func(ctx context.Context, _ *objects) error { return new(rondo.RWMutex).RLock(ctx) }},
	{"Semaphore.Acquire", fails, fails, "Semaphore.Acquire", func(ctx context.Context, _ *objects) error { return rondo.NewSemaphore(1).Acquire(ctx) }},
	{"Semaphore.AcquireN", fails, fails, "Semaphore.AcquireN", func(ctx context.Context, _ *objects) error { return rondo.NewSemaphore(2).AcquireN(ctx, 2) }},
	{"WaitList.Park", fails, fails, "WaitList.Park", func(ctx context.Context, _ *objects) error {
		return new(rondo.WaitList).Park(ctx, rondo.Reason{What: "test"})
	}},
}

var surface = slices.Concat(loopCalls, scopeCalls, taskCalls, sequenceCalls, lockCalls)

// TestForeignContext: no call hangs with a ctx that belongs to no loop. It does
// what the table says.
func TestForeignContext(t *testing.T) {
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			o := &objects{scope: g, task: g.Go(nothing), future: rondo.NewFuture[int](g)}
			o.future.Set(1)
			if err := o.task.Wait(g); err != nil {
				return err
			}
			for _, c := range surface {
				c.check(t, "in a task", c.inTask, o)
				_, err := rondo.Offload(g, func(context.Context) (int, error) {
					c.check(t, "on a goroutine", c.outside, o)
					return 0, nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// check fails t unless the call does what want says.
func (c *call) check(t *testing.T, where string, want outcome, o *objects) {
	var err error
	text := panicOf(func() { err = c.do(context.Background(), o) })
	ok := false
	switch want {
	case fails:
		ok = errors.Is(err, rondo.ErrNoLoop) && strings.HasPrefix(err.Error(), "rondo: "+c.says+": ")
	case nested:
		ok = err != nil && strings.HasPrefix(err.Error(), "rondo: "+c.says+" inside a task: ")
	case throws:
		ok = strings.HasPrefix(text, "rondo: "+c.says+": this ctx belongs to no running loop; use the one that") ||
			strings.HasPrefix(text, "rondo: "+c.says+" from a goroutine that is not a task of")
	case works:
		ok = err == nil
	}
	if !ok || (text != "") != (want == throws) {
		t.Errorf("%s %s: want: %s, naming %q; it returned %v, panic %q", c.name, where, want, c.says, err, text)
	}
}

// TestCancelledContext: with the ctx of a cancelled scope each call that returns an
// error returns the cause, except Shield, and a sequence ends.
func TestCancelledContext(t *testing.T) {
	run(t, func(ctx context.Context) error {
		o := &objects{task: rondo.Go(ctx, nothing), future: rondo.NewFuture[int](ctx)}
		o.future.Set(1)
		_ = o.task.Wait(ctx)
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			o.scope = g
			g.Cancel(errStop)
			for _, c := range surface {
				var err error
				text := panicOf(func() { err = c.do(g, o) })
				want := map[bool]error{true: errStop, false: nil}[c.inTask == fails && c.name != "Shield"]
				switch c.name {
				case "Current", "LoopOf", "Tasks", "Run", "Runner.Run":
					want = err // they do not ask
				}
				if text != "" || err != want {
					t.Errorf("%s returned %v, panic %q; want %v", c.name, err, text, want)
				}
			}
			return nil
		})
		return nil
	})
}

// TestSurfaceIsComplete: the table has each exported function of package rondo
// that takes a ctx.
func TestSurfaceIsComplete(t *testing.T) {
	found, err := takeContext("../..")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, c := range surface {
		if listed[c.name] {
			t.Errorf("%s is in the table twice", c.name)
		}
		listed[c.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !listed[name] {
			t.Errorf("%s takes a ctx and is not in the table", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !found[name] {
			t.Errorf("%s is in the table, and there is no such function that takes a ctx", name)
		}
	}
}

// takeContext returns the names of the exported functions and methods of a folder
// that have a parameter of type context.Context.
func takeContext(folder string) (map[string]bool, error) {
	names := make(map[string]bool)
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && hasContext(f.Type) {
				if name := fullName(f); ast.IsExported(name) {
					names[name] = true
				}
			}
		}
	}
	return names, nil
}

func hasContext(f *ast.FuncType) bool {
	return slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool {
		s, ok := p.Type.(*ast.SelectorExpr)
		return ok && fmt.Sprint(s.X) == "context" && s.Sel.Name == "Context"
	})
}

// fullName returns the name of a function, with that of its receiver's type.
func fullName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	return fmt.Sprint(t) + "." + f.Name.Name
}

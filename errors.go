package rondo

// The errors that Rondo returns, the sentences with which it refuses a caller's mistakes,
// and the report of the errors that no caller can be told, above all those of tasks for
// which nobody has waited.
//
// The law: an error is returned, joined to others in its scope, or given to OnError
// once. Nothing is dropped.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/report"
	"github.com/rondo-go/rondo/internal/stacks"
)

var (
	// ErrNoLoop says that a ctx does not come from Run, or that the calling
	// goroutine is not one of the loop's tasks.
	ErrNoLoop = errors.New("rondo: this ctx belongs to no running loop; use the one that Run or Go hands down")

	// ErrClosed matches, by errors.Is, each error that says that something of Rondo was closed:
	// ErrQueueClosed, ErrLoopClosed, socket.ErrServerClosed, shard.ErrClosed and
	// broadcast.ErrClosed. Closed connections and listeners return net.ErrClosed, as in package
	// net.
	ErrClosed = kernel.ErrClosed

	// ErrLoopClosed says that the loop has ended.
	ErrLoopClosed = kernel.Closed("rondo: the loop has ended")

	// ErrDeadlock says that every task of a loop waited, and nothing was known that
	// could end any of the waits. See Runner.EndDeadlock.
	ErrDeadlock = errors.New("rondo: deadlock")

	// ErrNotDone says that the result is not ready yet.
	ErrNotDone = errors.New("rondo: not done")

	// ErrQueueClosed says that a Queue was closed. A read returns it only when the Queue is
	// empty as well.
	ErrQueueClosed = kernel.Closed("rondo: queue closed")

	errOtherLoop = errors.New("rondo: the object belongs to another loop than the ctx")
)

// wrap puts the name of the call, or what happened, before an error of the caller.
func wrap(call string, err error) error { return kernel.Wrap(call, err) }

// misuse puts the name of the exported function that was called before err, and the
// place after it. They are found on the stack, so no call has to bring them along.
func misuse(err error) error { return kernel.Misuse(stacks.CalledAs(), err, stacks.Place()) }

// mustHaveLoop returns the scope of ctx. It is for functions that return no error.
func mustHaveLoop(ctx context.Context) *Scope {
	s := scopeOf(ctx)
	if s == nil {
		panic(misuse(ErrNoLoop).Error())
	}
	return s
}

// mustNotBeMisuse panics with err, the error of a call with ctx, if the call was a mistake of
// the caller. It is for sequences, which end without an error. The cause of a cancellation is
// another task's error, so its methods are not called.
func mustNotBeMisuse(ctx context.Context, err error) {
	if s := scopeOf(ctx); s == nil || !s.loop.inside() {
		panic(err.Error())
	}
}

// A PanicError is a panic of a task or a callback, with the stack on which it happened. If the
// panic passed through coroutines of package coro or sequences of Pull, the stack of the
// innermost one comes first. Below it, headed "resumed by" or "next called at", are the stacks
// of those that waited for it, each from the user's innermost line on. Of a coroutine that
// iter.Pull itself made, only the stack of the task that resumed it is known. Use coro.Pull
// instead to have both stacks.
type PanicError struct {
	Task  string // the task's name
	Value any    // what panic was called with
	Stack []byte // where it happened, as runtime/debug.Stack prints it; see above
	Site  string // where the task was started, as file:line; only with Debug

	thrown bool // Run panics with it
}

// Error returns one line: the task's name, with Debug the place where it was started, and the
// value. Run panics with a copy whose Error has the stack too, because Go prints only the Error
// of a panic.
func (e *PanicError) Error() string {
	if e.thrown {
		return fmt.Sprintf("%+v", e)
	}
	started := ""
	if e.Site != "" {
		started = " (started at " + e.Site + ")"
	}
	return "rondo: panic in " + e.Task + started + ": " + report.Text(e.Value)
}

// Format prints Error. With %+v it adds the user's innermost function on the stack, and then
// the stack, which begins with the function that panicked.
func (e *PanicError) Format(f fmt.State, verb rune) {
	line := *e
	line.thrown = false
	if text := line.Error(); verb != 'v' || !f.Flag('+') {
		fmt.Fprintf(f, fmt.FormatString(f, verb), e.Error())
	} else {
		fmt.Fprintf(f, "%s%s", text, stacks.Report(string(e.Stack)))
	}
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	if e == nil { // errors.Is comes here if a program panics with a variable that is not set
		return nil
	}
	err, _ := e.Value.(error)
	return err
}

// panicError returns the PanicError for v, which a deferred call has recovered. name says who
// panicked; t is the task, or nil if it was none. If v is a PanicError already, it keeps its
// stack.
func panicError(t *Task, name string, v any) *PanicError {
	stack := debug.Stack()
	if e, ok := v.(*PanicError); ok && e != nil {
		if e.thrown { // by a Run inside an Offload
			e = e.with(e.Stack)
			e.thrown = false
		}
		if stacks.LeftCoroutine(stack) {
			return e.with(stacks.Resumed(e.Stack, stack))
		}
		return e
	}
	if t != nil && t.rest() != nil {
		stack = t.rest().passing.Stack(v, stack)
	}
	return &PanicError{Task: name, Value: v, Stack: stack}
}

// with returns e with another stack. Others may have e.
func (e *PanicError) with(stack []byte) *PanicError {
	c := *e
	c.Stack = stack
	return &c
}

// startedBy returns e with the place where t was started, unless e has a place already. Others
// may have e, as when a call of another shard has panicked with it.
func (e *PanicError) startedBy(t *Task) *PanicError {
	if e.Site != "" || t.startedAt() == "" {
		return e
	}
	c := *e
	c.Site = t.startedAt()
	return &c
}

func init() { gid.PanicPasses = notePanic }

// notePanic is called on the goroutine of a coroutine that ends with a panic. It
// keeps the stack for the task in which the coroutine is nested, if it is in one, or
// for the runTask if it is in a callback.
func notePanic(v any, stack []byte) {
	for id := range gid.Resumers() {
		for _, l := range loops.All() {
			if !l.goroutines.Has(id) {
				continue
			}
			x := cmp.Or(l.current, l.runTask).ensureRest()
			x.passing = x.passing.With(v, stack)
			return
		}
	}
}

// ErrLeftBehind is passed to OnError for each thing that was still running when the loop ended:
// an offloaded function that was abandoned, or, with Debug, a task that was alive when the main
// task ended and was cancelled then.
var ErrLeftBehind = errors.New("rondo: still running at the end of the loop")

// An unobservedError is the error of a root-scope task for which nobody has waited, or has the
// errors of a scope in such a task whose body has panicked.
type unobservedError struct {
	info  TaskInfo
	entry uintptr // of the task's function
	err   error   // nil once somebody has it
}

// observed notes that somebody has u's error.
func (l *Loop) observed(u *unobservedError) {
	u.err = nil
	l.unobserved.Marked(func(u *unobservedError) bool { return u.err == nil })
}

// keepEntry records the function that a failed task of the root scope ran, for the report.
func (l *Loop) keepEntry(t *Task) {
	if t.owner == &l.root {
		t.ensureExtra().entry = t.entry()
	}
}

// keepError keeps the error of a task that the root scope owns until somebody takes it. An
// error that nobody takes is reported when the task can no longer be waited for, or at the end
// of the loop.
func (l *Loop) keepError(t *Task, v *verdict) {
	if t.observed || v.Rest == nil {
		return
	}
	if p := l.fault.panic; p != nil && v.whole == error(p) {
		return // Run panics with it
	}
	u := &unobservedError{info: t.info(), entry: t.entry(), err: v.whole}
	t.ensureRest().unobserved = u
	l.unobserved.Add(u)
	if l.sim == nil {
		// The garbage collector is not part of a schedule that can be replayed, so in a
		// simulation the error waits for the end of the loop.
		runtime.AddCleanup(t, func(u *unobservedError) { _ = l.Post(func() { l.report(u) }) }, u)
	}
}

// observe records that somebody has the task's error. It does nothing before the task's end:
// then somebody may have a result that others have set in its Future, and not the error.
func (t *Task) observe() {
	if t.state != stateDone {
		return
	}
	t.observed = true
	if x := t.rest(); x != nil && x.unobserved != nil {
		t.scope.loop.observed(x.unobserved)
		x.unobserved = nil
	}
}

// report calls OnError with u, once.
func (l *Loop) report(u *unobservedError) {
	err := u.err
	if err == nil {
		return
	}
	if l.observed(u); !l.callOnError(u.info, err) {
		report.Log(slog.LevelError, "rondo: a task failed and nobody waited for it; call Wait, start it in a Group, or set OnError of the Runner",
			report.Args("loop", l.name, "task", u.info.Name, "err", err, "func", stacks.Declared(u.entry), "started", u.info.Site)...)
	}
}

// callOnError calls OnError, and reports whether there is one. If OnError does not return
// but panics, the error that it was called with is in the log, and so is the panic; the loop
// goes on. A simulation is a test, which must see the panic.
func (l *Loop) callOnError(about TaskInfo, err error) (called bool) {
	if l.runner.OnError == nil {
		return false
	}
	called = true
	returned := false
	defer func() {
		if returned {
			return
		}
		args := report.Args("loop", l.name, "task", about.Name, "err", err)
		if l.contains() {
			if v := recover(); v != nil {
				args = append(args, "panic", fmt.Sprintf("%+v", panicError(nil, "OnError of the Runner", v)))
			}
		}
		report.Log(slog.LevelError, "rondo: OnError panicked with this error", args...)
	}()
	l.runner.OnError(about, err)
	returned = true
	return true
}

// notice passes an error that no caller can be told to OnError, or else to the log.
func (l *Loop) notice(about TaskInfo, err error) {
	if l.callOnError(about, err) {
		return
	}
	level := slog.LevelError
	if _, panicked := err.(*PanicError); !panicked && errtree.Is(err, ErrLeftBehind) {
		level = slog.LevelWarn
	}
	report.Log(level, report.Text(err),
		report.Args("loop", l.name, "task", about.Name, "func", about.Func, "started", about.Site)...)
}

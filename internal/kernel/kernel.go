// Package kernel is what Rondo's own packages, such as internal/fd, socket and shard,
// may ask of a loop and users may not. Package rondo fills it in; a package that
// imports this one imports that one too.
package kernel

import (
	"context"
	"slices"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/layout"
)

// A Loop is one loop, seen from below the public API.
type Loop interface {
	// Driver returns the loop's driver. It may be used only on the loop.
	Driver() driver.Driver

	// Inside reports whether the calling goroutine is on the loop: in a task, a
	// callback, or a coroutine nested in them. Any goroutine may ask. It takes
	// some 5 ns for the loop's own goroutines.
	Inside() bool

	// Task returns the running task, or nil in a callback. Only on the loop.
	Task() Task

	// Now returns the loop's clock when it was read last, at most a turn ago. Only
	// on the loop.
	Now() int64

	// Holds says where the step is that the loop takes now, and what to do about it if it holds
	// the loop. It stops the program to read all stacks. Any goroutine.
	Holds() Hold

	// Post hands fn to the loop, as rondo.Loop.Post does. Any goroutine.
	Post(fn func()) error

	// PostFor is Post of a result for the task with a number. In a simulation results
	// for several tasks may run in any order, and each after what was posted before it.
	PostFor(id uint64, fn func()) error

	// Refuses reports whether the loop ends, and all its tasks have ended. Any goroutine.
	Refuses() bool

	// AddWakers notes that n things more than before may wake the loop from outside,
	// so that it is idle and not in deadlock while nothing can run. Only on the
	// loop.
	AddWakers(n int)

	// AddHelpers notes that n goroutines more than before work for the loop, so that a
	// busy loop gives them the processor now and then. Only on the loop.
	AddHelpers(n int)

	// Helpers returns how many goroutines work for the loop. Only on the loop.
	Helpers() int

	// AddConns counts n open connections more than before, for readers from outside,
	// and returns how many there are. Any goroutine.
	AddConns(n int) int

	// AddServer shows the counters of a server to readers from outside, and RemoveServer
	// ends that. s.Name must not change in between. Only on the loop.
	AddServer(s *Server)
	RemoveServer(s *Server)

	// CallAt runs fn as a callback when the loop's clock has come to an instant.
	// Only on the loop.
	CallAt(instant int64, fn func()) Timer

	// WaitList returns a new rondo.WaitList. Any goroutine may call it.
	WaitList() WaitList

	// Callback returns a function that runs fn as a callback at the next turn and
	// allocates nothing. It must not be called again before fn has begun. Only
	// on the loop.
	Callback(fn func()) (schedule func())

	// Recovers reports whether a panic of a function that Rondo calls for someone else
	// is an error of that call, a *rondo.PanicError, instead of the end of the loop. On
	// a real loop it always is. In a simulation it is if the Runner has Recover set: a
	// test must see a panic.
	Recovers() bool

	// Notice gives err, which no caller can be told, to the Runner's OnError, or else to
	// the log. about says what failed. Only on the loop.
	Notice(about string, err error)

	// SetEntry notes that t, a *rondo.Task of this loop, runs a function of Rondo's
	// that stands for the user's with this entry: the one to show. Only on the
	// loop.
	SetEntry(t any, user uintptr)

	// SetExempt notes that t, a *rondo.Task of this loop that was started just now, works for
	// others, which wait for it. So the limit of the scope that owns it neither counts it nor
	// holds it back. Unless always is true, that is so only if the running task has started it,
	// and the scope owns that task, or one that encloses it.
	SetExempt(t any, always bool)

	// SetServing notes that t, a *rondo.Task of this loop that has not run yet, calls a
	// function for someone else: a handler, a job. Then the own scope of t, the ctx of
	// that function, owns the tasks that are started with it. The first of them to fail
	// cancels the scope, unless another task waits for its error and so gets it. A task
	// that is started with the ctx after t has ended is cancelled, and belongs to the
	// loop's root scope. SetServing returns that scope. It costs nothing until the
	// function starts a task. Only on the loop.
	SetServing(t any) context.Context

	// OpenServing opens a scope below that of ctx in which no function runs, for callbacks
	// that are called for someone else. It owns the tasks that are started with it, as
	// that of SetServing does. The scope of ctx must not be left before it is closed.
	// Only on the loop.
	OpenServing(ctx context.Context, o Owner) ServingScope

	// Waits reports whether t, a *rondo.Task of this loop, waits, and whether it is alone:
	// no task that was started with its ctx lives. Only on the loop.
	Waits(t any) (waits, alone bool)

	// SetName is SetName of t, a *rondo.Task of this loop, without a copy of the
	// name, which must not change. Only on the loop.
	SetName(t any, name *string)

	// GoFunc runs fn on a goroutine of its own. The caller sees to it that it ends.
	GoFunc(fn func())
}

// A ServingScope is a scope of OpenServing. Only on the loop.
type ServingScope interface {
	// Context returns the scope.
	Context() context.Context

	// Cancel cancels the scope; a nil cause stands for context.Canceled. What its tasks
	// return for that is no error.
	Cancel(cause error)

	// Close closes the scope, which is cancelled, and returns the errors of its tasks
	// joined. While it has tasks it does nothing and returns false; the Owner is told of
	// their end.
	Close() (errs error, closed bool)
}

// An Owner of a ServingScope is told of its tasks. The methods run where a task ends: they
// must not call anything of the program's.
type Owner interface {
	// Failed is called with the first error of a task, which has cancelled the scope.
	Failed(err error)

	// Emptied is called when the last task has ended.
	Emptied()
}

// A Timer is a callback that waits for its time. Cancel, on the loop, keeps it
// from running and reports whether it was in time for that.
type Timer interface{ Cancel() bool }

// A Reason is a rondo.Reason: what a task waits for.
type Reason struct {
	What string
	On   uint64
}

// A WaitList is a *rondo.WaitList: its methods do what the methods of the same
// names do there. Only on the loop.
type WaitList interface {
	Park(ctx context.Context, why Reason) error

	// ParkTask is Park with the scope of t, the running task, as ctx.
	ParkTask(t Task, why Reason) error

	Wake() bool
	Len() int

	// SetOn changes the number in the Reason of the first task in the list.
	SetOn(on uint64)

	// Name sets the list's Of. It is called before the list is used.
	Name(of any)
}

// A Hold is a step that holds its loop.
type Hold struct {
	Task    string // the name of the task
	Place   string // the user's innermost line: "function at file:line"
	Advice  string // on what it is stuck, and what to write in place of it
	State   string // of its goroutine, as the runtime calls it
	Stack   string
	Blocked bool // it does not compute
}

// A Task is the running task.
type Task interface {
	// Scope returns the scope that the task opened last and is still in: what
	// ends a wait for which no ctx is at hand.
	Scope() context.Context

	// Check returns the cause if that scope is cancelled, and nil otherwise, as
	// rondo.Check does.
	Check() error

	// Spend counts an operation that succeeded without waiting, with the bytes
	// it moved, and yields if the task has had its share for this turn: 16
	// operations or 256 KiB. It does not fail: a cancellation shows at the
	// next wait.
	Spend(bytes int)

	// Reusable reports whether the task may run another function as if that were
	// a task of its own: nobody outside can tell that its scope has been used.
	// Its scope is not cancelled, has nothing below it and is no context of
	// package context yet, and nobody waits for the task's end.
	Reusable() bool

	// Leave is for the running task, one of SetServing, whose function has ended with err:
	// has returned it, or with a *PanicError for a panic. If anything was started with its
	// ctx, Leave cancels the task's scope, waits until the tasks in it have ended, and
	// returns err joined with their errors, without what says only that one of these
	// failures cancelled the scope. Otherwise it returns err and does nothing.
	//
	// Leave suspends the task if such tasks have to wait, and no cancellation cuts that
	// short. It may be called in a deferred call, also while a panic or a Goexit unwinds
	// the task, and again: after a second function in the same task, which needs a task
	// for which Reusable is true, or to make sure. A wait of the task after Leave fails
	// if there was something to cancel, so it needs Shield. If Leave is not called, the
	// end of the task does the same, and joins the errors to the task's.
	Leave(err error) error

	// SetSatisfied sets what is asked when a cancellation ends a wait of the task:
	// whether the wait has succeeded before that, and so returns nil. nil means that
	// nothing is asked.
	SetSatisfied(satisfied func() bool)

	// Shield runs body in the task as rondo.Shield does: no cancellation reaches
	// its waits.
	Shield(body func(ctx context.Context) error) error
}

// Of returns the loop of a ctx, or nil if it belongs to none. Any goroutine may
// call it.
var Of func(ctx context.Context) Loop

// Tasks returns how many tasks the scope of a ctx owns that have not ended: those that were
// started with it. Only on the loop.
var Tasks func(scope context.Context) int

// Ended reports whether the scope of a ctx has ended, so that no task can be started in it. The
// Err of the ctx need not say so, after context.WithoutCancel. Only on the loop.
var Ended func(ctx context.Context) bool

// A TaskName is what a line of a log says of a task.
type TaskName struct {
	Loop, Name string
	ID         uint64
}

// TaskOf returns the task that runs, if the caller is in one, and else the one that ctx
// comes from. It reports whether there is one. Any goroutine may call it; on one that is
// not on the loop the name is "task-N".
var TaskOf func(ctx context.Context) (TaskName, bool)

// Loops returns all loops that live. Any goroutine may call it. The pointer in each
// is to the record of which Table tells.
var Loops func() []Loop

// InsideAny reports whether the calling goroutine is on any loop. Any goroutine may call it.
func InsideAny() bool { return slices.ContainsFunc(Loops(), Loop.Inside) }

// Table says where in the kernel's records each field is.
var Table *layout.Table

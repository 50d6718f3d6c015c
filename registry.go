package rondo

import (
	"iter"
	"unsafe"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/stacks"
)

// This file has the list of a loop's tasks, and the words in which a task's life is
// told. It knows nothing of how tasks run.

// state is what a task is doing. At any moment each live task is either new or
// ready, and then in the loop's queue once; or running, and there is one such
// task at most; or waiting, and then in at most one WaitList.
type state uint8

const (
	stateNew state = iota
	stateReady
	stateRunning
	stateWaiting
	stateDone
)

func (s state) String() string {
	return [...]string{"new", "ready", "running", "waiting", "done"}[s]
}

// taskExtra is what few tasks have.
type taskExtra struct {
	name       *string         // behind a pointer, so that nobody who looks from outside sees half of it
	onEnd      func(err error) // called with the task's error at its end; what Async does then
	entry      uintptr         // the user's function, if fn is one of Rondo's around it
	site       *stacks.Site    // where the task was started; nil without Debug
	calls      calls           // of OnDone
	unobserved *unobservedError
	confined   bool // see effectiveScope
}

func (t *Task) ensureExtra() *taskExtra {
	if t.extra == nil {
		t.extra = new(taskExtra)
	}
	return t.extra
}

// registry has the tasks of a loop.
type registry struct {
	allTasks list.List[Task] // those that live, without the runTask
	live     int             // how many they are
	lastID   uint64
	runTask  *Task // stands for the goroutine of Run
	main     *Task
}

// tasks ranges over the live tasks, the oldest first.
func (r *registry) tasks() iter.Seq[*Task] { return r.allTasks.All(taskLinks) }

const taskLinks = unsafe.Offsetof(Task{}.links)

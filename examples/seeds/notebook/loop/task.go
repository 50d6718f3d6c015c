package loop

import (
	"context"

	"github.com/rondo-go/rondo/coro"
)

// A Task is a coroutine that a loop resumes.
//
// It is in one place at a time: at its own turn, in the queue of those that can
// run, or where it waits, and then leave takes it away from there.
type Task struct {
	loop      *Loop
	coroutine *coro.Coroutine[struct{}, struct{}]
	yield     func(struct{}) struct{}
	done      *Future[struct{}] // that others wait for
	err       error             // what its function returned
	leave     func()            // not nil while it waits
	cause     error             // why its wait was ended, if it was cancelled
}

// Go puts a function in the queue as a task.
func (l *Loop) Go(fn func() error) *Task {
	t := &Task{loop: l, done: NewFuture[struct{}](l)}
	t.coroutine = coro.Make(func(_ struct{}, yield func(struct{}) struct{}) struct{} {
		t.yield = yield
		t.err = fn()
		return struct{}{}
	})
	l.alive = append(l.alive, t)
	l.ready(t)
	return t
}

// Wait waits for the end of the task, and returns its function's error.
func (t *Task) Wait() error {
	_, err := t.done.Wait()
	return err
}

// Cancel makes the wait that the task is in fail with context.Canceled. It does
// nothing to a task that does not wait.
func (t *Task) Cancel() {
	if t.leave == nil {
		return
	}
	t.leave()
	t.leave, t.cause = nil, context.Canceled
	t.loop.ready(t)
}

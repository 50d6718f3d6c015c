package rondo

// A function that panics or calls runtime.Goexit does not return: it unwinds. A loop may also
// end for a reason outside of its tasks, such as a driver that fails.
//
// The law, for a task, a callback and the body of a scope alike:
//
//   - A panic is kept with its stack. In a task it becomes the task's error, if the Runner
//     has Recover set, or if a handler has started the task and contains() allows it.
//     Otherwise everything is cancelled, deferred calls run, and Run panics with it. A
//     callback's panic ends the loop in any case.
//   - A Goexit cancels everything too, and in the end Run calls Goexit. Nothing can
//     stop a Goexit, so the worker goes on running tasks in a deferred call until the
//     loop ends.
//   - If there are several reasons for the loop to end, Run shows the first one.
//   - No scope is left early because something unwinds: it still waits for its tasks, and a
//     task still ends its dependants. Errors that can no longer be returned go to the
//     scope above, or to OnError.
//   - While a deferred call waits, a callback that runs on its stack may call Goexit. So each
//     deferred function here that may wait defers itself first.

import (
	"context"
	"errors"
	"runtime"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/list"
)

// ending is the state of a loop that concerns its end.
type ending struct {
	fault      fault
	unobserved list.Lazy[unobservedError] // in the order in which they came
	drained    WaitList                   // Run, waiting for the last task
	late       func()                     // tells the watchdog of the end; nil without one
	onStill    func() (until int64)       // called if nothing known can wake the loop; see deadlock.go
	still      stillness
	stops      []func() // called at the end to stop the observers
}

// fault is the reason for which a loop ends early.
type fault struct {
	panic  *PanicError
	goexit bool
	err    error
}

func (f *fault) any() bool { return f.panic != nil || f.goexit || f.err != nil }

// result makes Run end as the loop did: it panics, calls Goexit, or returns err, the error of the
// main task, joined with f.err if there is one.
func (f *fault) result(err error) error {
	switch {
	case f.panic != nil:
		// Tasks of other loops may have the error too, and read it now.
		thrown := *f.panic
		thrown.thrown = true
		panic(&thrown)
	case f.goexit:
		runtime.Goexit()
	case f.err != nil && !errtree.Is(err, f.err):
		return errors.Join(f.err, err)
	}
	return err
}

// callback stands for a callback in a PanicError, in place of a task's name.
const callback = "a callback"

// errGoexit is the error of a task that called runtime.Goexit.
var errGoexit = errors.New("rondo: the task called runtime.Goexit")

// panicked returns a PanicError for a panic with value v of the task or callback called name. It
// must be called in a deferred call, of whose stack it keeps a copy. t is the task, or l.runTask
// for a callback. Unless a handler or Recover contains the panic, it ends the loop.
func (l *Loop) panicked(t *Task, name string, v any) error {
	e := panicError(t, name, v).startedBy(t)
	if name != callback && (l.runner.Recover || l.contains() && t.servesBelow()) {
		return e
	}
	if !l.fault.any() {
		l.fault.panic = e
	}
	l.cancelAll(e)
	return e
}

// noteGoexit ends the loop because a task or a callback has called runtime.Goexit.
func (l *Loop) noteGoexit() {
	if !l.fault.any() {
		l.fault.goexit = true
	}
	l.surplus.clear()
	l.cancelAll(errGoexit)
}

// fail ends the loop with an error that is not that of a task.
func (l *Loop) fail(err error) {
	if l.fault.err == nil {
		l.fault.err = err
	}
	l.cancelAll(err)
}

// cancelAll cancels the root scope, so that all tasks end and their deferred calls run. The
// bodies of Shields still run to their end.
func (l *Loop) cancelAll(cause error) {
	l.root.cancel(&cancellation{err: context.Canceled, cause: cause, origin: &l.root})
}

// rescue is deferred by perform. It ends the task of w if the task's function has panicked or
// called Goexit.
func (w *worker) rescue() {
	t := w.job
	if t.state == stateDone {
		return
	}
	defer w.rescue() // see the head of this file
	l := w.loop
	l.markUnwinding(t)
	if v := recover(); v != nil {
		err := l.panicked(t, t.Name(), v)
		t.finishUnwinding(err)
		return
	}
	l.noteGoexit()
	t.finishUnwinding(errGoexit)
}

// finishUnwinding ends t, whose function has panicked or called Goexit. err stands for that.
func (t *Task) finishUnwinding(err error) {
	err = t.leaveOwn(err)
	t.scope.loop.finish(t, err, judgeUnwinding(err, t.judge))
}

// surviveGoexit is deferred by a worker for its whole life, and ends it. But if a task, or a
// callback that ran on this stack, has called Goexit, the worker goes on running tasks in this
// deferred call. So its goroutine ends only when the loop does.
func (w *worker) surviveGoexit() {
	if w.home.over {
		return
	}
	if v := recover(); v != nil {
		panic(v) // a bug in Rondo
	}
	if w.job != nil {
		defer w.surviveGoexit()
		w.loop.noteGoexit()
		w.runJobs()
	}
	// Otherwise it was idle. A Goexit then came from another worker that has ended.
	w.quit()
}

// unwind is deferred by open. If s has not ended, t is unwinding: the body of s has panicked or
// called Goexit, or a callback that ran on this stack has. Then unwind cancels the tasks of s,
// waits for them, and ends s.
//
// Like open, it may run in another task than s was opened in.
func (s *Scope) unwind(w *worker, outer *Scope) {
	if s.closed {
		return
	}
	t, may := s.leaver()
	if !may {
		return // nothing can wait for the tasks of s here
	}
	defer s.unwind(w, outer) // see the head of this file
	if t != nil {
		s.loop.markUnwinding(t)
		s.cancel(&cancellation{err: context.Canceled, cause: context.Canceled, origin: s, silent: true})
		s.join(t)
		s.passErrors(t)
	}
	w.leave(s, outer)
	s.end()
}

// passErrors passes the errors of s to the scope above, because t is unwinding and cannot
// return them.
func (s *Scope) passErrors(t *Task) {
	if s.extra == nil || len(s.extra.errs) == 0 {
		return
	}
	err := errtree.Join(s.extra.errs)
	above := s.parent
	for above.closed {
		above = above.parent
	}
	if above = above.owner(); above != &s.loop.root {
		v := judgeUnwinding(err, above.judge)
		if x := above.extra; x != nil && x.onFailure != nil {
			x.onFailure(t, v)
		} else {
			above.fail(v)
		}
		return
	}
	// No Task has this error, so no caller can take it.
	l, u := s.loop, &unobservedError{info: t.info(), err: err}
	l.queue.Add(entry{call: l.handle(func() { l.report(u) })})
}

// judgeUnwinding is judge for a task that is unwinding already. If a method of err panics, it
// recovers, and the verdict keeps all of err.
func judgeUnwinding(err error, judge func(err error) *verdict) (v *verdict) {
	v = &verdict{whole: err}
	v.Rest = err
	defer func() { _ = recover() }()
	return judge(err)
}

// callbackExited is called when a callback or a hook has called Goexit. It ran on the stack of a
// task that was about to park. That task now unwinds, and its deferred calls may wait, so it is
// made the running task. Of all tasks it is the only one with a worker that is not parked.
func (l *Loop) callbackExited() {
	for t := range l.tasks() {
		if t.worker != nil && t.worker.at == nil {
			l.markUnwinding(t)
			l.current = t
			return
		}
	}
}

// markUnwinding makes t, whose goroutine is unwinding, a running task. Its state may still say
// that it waits or is ready, if it was about to park.
func (l *Loop) markUnwinding(t *Task) {
	switch t.state {
	case stateWaiting:
		t.worker.abandon()
		t.worker.under = nil
	case stateReady:
		t.worker.cause, t.worker.under = nil, nil
		for i := range l.queue.Len() {
			if e := l.queue.At(i); e.task == t {
				*e = entry{}
			}
		}
	}
	t.state = stateRunning
}

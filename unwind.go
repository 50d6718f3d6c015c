package rondo

// A function that does not return unwinds, by a panic or by runtime.Goexit. A loop may also
// end for a reason that no task is to blame for, such as a driver that fails.
//
// The law, for a task, a callback and the body of a scope alike:
//
//   - A panic is kept with its stack. In a task, with Recover, it is the task's
//     error. Otherwise everything is cancelled, deferred calls run, and Run panics
//     with it.
//   - A Goexit cancels everything too, and Run calls Goexit in the end. Nothing
//     stops a Goexit, so the worker under it goes on in a deferred call until the
//     loop ends.
//   - The first reason for which a loop ends is the one that Run shows.
//   - Nothing is left early for any of this: a scope waits for its tasks, a task
//     ends what depends on it, and errors that cannot be returned any more go to the
//     scope above, or to OnError.
//   - A deferred call that waits may meet another Goexit, of a callback that runs on
//     its stack. So each of them defers itself first.

import (
	"context"
	"errors"
	"runtime"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/list"
)

// ending is what is known of the end of a loop.
type ending struct {
	fault      fault
	unobserved list.Lazy[unobservedError] // in the order in which they came
	drained    WaitList                   // Run, waiting for the last task
	late       func()                     // tells the watchdog of the end; nil without one
	onStill    func() (until int64)       // nothing known can wake the loop; see deadlock.go
	still      stillness
	stops      []func() // what ends the observers
}

// fault is why a loop ends before its time; the first reason holds.
type fault struct {
	panic  *PanicError
	goexit bool
	err    error
}

func (f *fault) any() bool { return f.panic != nil || f.goexit || f.err != nil }

// result ends Run as the loop ended: it panics, calls Goexit, or returns the main task's error.
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

// callback is the name of a callback in a PanicError. No task answers for its
// panic, so it ends the loop in any case.
const callback = "a callback"

// errGoexit is the error of a task that called runtime.Goexit.
var errGoexit = errors.New("rondo: the task called runtime.Goexit")

// panicked keeps the panic with value v of what is named, with the stack of the caller,
// which is a deferred call of t, or of the runTask if it is a callback's. Unless the
// Runner says otherwise it ends the loop.
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

// noteGoexit is called when a task or a callback has called runtime.Goexit.
func (l *Loop) noteGoexit() {
	if !l.fault.any() {
		l.fault.goexit = true
	}
	l.surplus.clear()
	l.cancelAll(errGoexit)
}

// fail ends the loop with an error that no task is to blame for.
func (l *Loop) fail(err error) {
	if l.fault.err == nil {
		l.fault.err = err
	}
	l.cancelAll(err)
}

// cancelAll cancels everything, so that deferred calls run and tasks end. Shields
// hold: what they guard is finished first.
func (l *Loop) cancelAll(cause error) {
	l.root.cancel(&cancellation{err: context.Canceled, cause: cause, origin: &l.root})
}

// rescue is called, deferred, when perform is left, and sees to a task that has
// not ended by returning.
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

// finishUnwinding ends t, which a panic or a Goexit has ended.
func (t *Task) finishUnwinding(err error) {
	err = t.leaveOwn(err)
	t.scope.loop.finish(t, err, judgeUnwinding(err, t.judge))
}

// surviveGoexit is called, deferred, when the worker's life ends. If that is by a Goexit
// of a task, or of a callback that ran on this stack, the worker goes on in here: so its
// goroutine ends only when the loop does, with control on its way back to Run.
func (w *worker) surviveGoexit() {
	if w.home.over {
		return
	}
	if v := recover(); v != nil {
		panic(v) // a fault of Rondo's own
	}
	if w.job != nil {
		defer w.surviveGoexit()
		w.loop.noteGoexit()
		w.runJobs()
	}
	// Else it was idle, and another worker that ended has handed its Goexit on.
	w.quit()
}

// unwind is called, deferred, when open is left, and sees to a scope that has not
// ended: its body panicked or called Goexit, or a callback that ran on this stack
// did, and t is unwinding. The tasks of the scope must not outlive it for that.
func (s *Scope) unwind(t *Task, outer *Scope) {
	if s.closed {
		return
	}
	defer s.unwind(t, outer) // see the head of this file
	s.loop.markUnwinding(t)
	s.cancel(&cancellation{err: context.Canceled, cause: context.Canceled, origin: s, silent: true})
	s.join(t)
	t.worker.inner = outer
	s.passErrors(t)
	s.end()
}

// passErrors passes the errors of s, which t's panic keeps from being returned, to
// the scope above.
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
		above.fail(judgeUnwinding(err, above.judge))
		return
	}
	s.loop.unobserved.Add(&unobservedError{info: t.info(), err: err})
}

// judgeUnwinding is judge where a panic is under way already. An error of which a method
// panics is kept whole.
func judgeUnwinding(err error, judge func(err error) *verdict) (v *verdict) {
	v = &verdict{whole: err}
	v.Rest = err
	defer func() { _ = recover() }()
	return judge(err)
}

// callbackExited is called when what ran on the stack of a task that was about to be
// parked, a callback or a hook, has called Goexit. The task runs again, as far as its
// deferred calls are concerned: they may wait. It is the one that is not parked anywhere.
func (l *Loop) callbackExited() {
	for t := range l.tasks() {
		if t.worker != nil && t.worker.at == nil {
			l.markUnwinding(t)
			l.current = t
			return
		}
	}
}

// markUnwinding makes t a running task if it is parked, or was about to be, though
// its goroutine unwinds.
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

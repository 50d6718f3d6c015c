package rondo

// Pull is iter.Pull for a sequence that waits.
//
// The law. The sequence runs in a task of its own, and either that task or the
// one that called next runs, never both: next parks the caller and hands
// over to the sequence's task, past the queue, and yield hands back. So next lets
// nothing else run, as a plain call would, unless the sequence waits or it is time for
// others, as in every function that may suspend (Checkpoint). Whatever the sequence opens,
// a Timeout or a Mutex, is its own and not the caller's.
//
// A Pull that has begun is a dependant of the scope of its ctx. What ends a Pull is
// always the same: yield returns false from then on, the deferred calls of the
// sequence run in its task, where they may wait, and the task ends. No scope is
// left before its Pulls have ended, and so no loop either.

import (
	"context"
	"iter"
	"reflect"
	"runtime"
	"runtime/debug"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/stacks"
)

// Pull is iter.Pull for a sequence whose body may suspend: sleep, read a socket, take a lock.
// Each call of next returns the next value and true, or the zero value and false when there are
// no more. stop ends the sequence early: the pending yield returns false, as does every later
// one, and stop returns when the body has returned, clean-up that waits included. Pull itself
// never suspends; next and stop suspend the task if the body does.
//
// The body runs in a task of its own, started by the first next; if next is never called,
// nothing runs and nothing is allocated for it. So a scope that the body is in when it yields
// is the body's alone: with a bare iter.Pull a Timeout around a yield would cut short the waits
// of the task that called next. A wait in the body ends when the ctx that it is given is
// cancelled, as always, and a wait without a ctx when the ctx given to Pull is. A cancellation
// of the caller of next alone does not end its wait for the value, since a value that is under
// way would be lost.
//
// A Pull that nobody has stopped is stopped when the scope of ctx ends. If ctx is that of a
// Group, this is when the other tasks of the Group have ended; if ctx is the one that a task's
// function got, it is when that function has returned. All Pulls of a scope are stopped at
// once, and the scope, or the task, ends when they have. ctx is cancelled by then, so clean-up
// that waits needs Shield. A Pull is also stopped when the garbage collector finds that nobody
// can call next or stop any more, unless the loop is simulated: when that happens is no part of
// a schedule that can be replayed. A sequence that refers to its own next is never found by the
// collector, so only the end of the scope stops it.
//
// If the body panics, the next or stop that waits for it panics with a
// *PanicError that has the body's stack and the caller's; if it calls runtime.Goexit, so does the
// caller. If nobody waits, because the scope's end or the collector has stopped
// it, that is a panic or Goexit of the body's task; see Runner.
//
// Any task of the loop may call next and stop, one after the other. It is an error, and panics,
// to call either while another task waits in next for the sequence, from inside the sequence,
// from a callback or from a goroutine that is not on the loop. Once a Pull is stopped, next
// returns false, even after the end of the loop, and stop only waits for the clean-up, if that
// has not ended.
//
// It replaces the hooks that Python has for asynchronous generators (PEP 525).
// next and stop suspend the task.
func Pull[T any](ctx context.Context, seq iter.Seq[T]) (next func() (T, bool), stop func()) {
	s := mustHaveLoop(ctx)
	if seq == nil {
		panic("rondo: Pull of a nil sequence")
	}
	h := &puller[T]{source: &source[T]{seq: seq}, ctx: ctx}
	h.loop = s.loop
	// No method: there would be a wrapper around it, and each function that is left
	// after a switch costs 8 ns; see transfer.
	next = func() (T, bool) {
		var none T
		t := h.callerOf("next")
		if t == nil || h.closing || h.task == nil && !h.start() {
			return none, false
		}
		h.caller = t
		t.waitFor("next", h.task.id)
		h.loop.handOver(t, h.task)
		h.caller = nil
		if h.fault != nil || h.exited {
			h.fail("next")
		}
		v, ok := h.value, h.given
		h.value, h.given = none, false
		// At the end: before, another task could come first, and this one would be to blame. It
		// is pays written out, as in Future.Wait.
		if !t.worker.affords(h.loop, 1) {
			t.settle()
		}
		// The caller of next can call it again, so it is no garbage.
		runtime.KeepAlive(h)
		return v, ok
	}
	return next, h.stop
}

// A puller is the state that next and stop share. Nothing else refers to it, so when it is
// garbage nobody can call them.
type puller[T any] struct {
	*source[T]
	ctx context.Context // until the first next
}

// A source is the sequence's side: a pull with room for the value that is handed over.
type source[T any] struct {
	pull
	seq   iter.Seq[T] // until it runs
	value T
	given bool // value is there
}

// pull is the part of a source that does not depend on the type of the values.
type pull struct {
	dependant // its task runs the sequence; nil until the first next
	loop      *Loop
	caller    *Task // in next or stop, and runs next
	closing   bool  // yield returns false
	over      bool  // the sequence has returned, or will never start
	exited    bool  // it has called Goexit, and so must caller
	fault     *PanicError
	cleanup   runtime.Cleanup
	room      Task // for the task, so that there is one allocation
	extra     taskExtra
}

func (h *puller[T]) stop() {
	t := h.callerOf("stop")
	switch {
	case t == nil:
	case h.task == nil:
		h.over, h.ctx, h.seq = true, nil, nil
	case h.closing:
		h.wait(t)
	default:
		h.closing, h.caller = true, t
		t.waitFor("next", h.task.id)
		h.loop.handOver(t, h.task)
		h.fail("stop")
	}
	runtime.KeepAlive(h)
}

// start makes the task that runs the sequence, unless the scope has ended.
func (h *puller[T]) start() bool {
	s := h.source
	begun := s.startTask(h.ctx, s, reflect.ValueOf(s.seq).Pointer())
	if h.ctx = nil; !begun {
		s.seq = nil
		return false
	}
	if s.loop.sim == nil {
		s.holder = h
		s.loop.unwatched.Add(&s.dependant)
	}
	return true
}

// watch lets the collector stop the Pull.
func (h *puller[T]) watch() {
	h.cleanup = runtime.AddCleanup(h, func(p *pull) { _ = p.loop.Post(p.stopSoon) }, &h.pull)
}

// run runs the sequence. It is the task's.
func (s *source[T]) run(context.Context) error {
	yield := func(v T) bool { // no method, as in Pull
		t := s.task
		if t.self != gid.Self() && !s.loop.inside() || s.loop.current != t {
			panic("rondo: yield of a Pull called outside its sequence")
		}
		if s.closing {
			return false
		}
		s.value, s.given = v, true
		t.waitFor("pull", 0)
		s.loop.handOver(t, s.caller)
		return !s.closing
	}
	seq, returned := s.seq, false
	s.seq = nil
	defer s.end(&returned)
	seq(yield)
	returned = true
	return nil
}

func (s *source[T]) complete(error) {}

// callerOf returns the task that calls next or stop, or nil if there is nothing left to do.
func (p *pull) callerOf(call string) *Task {
	l := p.loop
	if !l.inside() {
		if l.inbox.Closed() {
			return nil
		}
		panic(l.misuseOutside(call + " of a Pull").Error())
	}
	t := l.current
	switch {
	case p.over:
		return nil
	case t == nil:
		panic("rondo: " + call + " of a Pull in a callback: callbacks must not wait; start a task with Go")
	case t == p.task:
		panic("rondo: " + call + " of a Pull inside its own sequence")
	case p.caller != nil && !p.closing:
		panic("rondo: " + call + " of a Pull while another task is in its next")
	}
	return t
}

// startTask makes the task, and adds it to the dependants of ctx's scope. entry is the entry of
// the sequence's function, by which the task is described.
func (p *pull) startTask(ctx context.Context, run body, entry uintptr) bool {
	s := scopeOf(ctx)
	if s.closed {
		p.over = true
		return false
	}
	p.room.extra = &p.extra
	p.extra.entry, p.extra.body = entry, run
	p.loop.newTask(&p.room, s.owner(), ctx, nil)
	p.task = &p.room
	p.stopper, p.what = p, "pull"
	s.depend(&p.dependant)
	if p.loop.observer != nil {
		p.loop.tell(taskStarted, p.task)
	}
	return true
}

// end is called, deferred, when the sequence has ended in any way. The caller goes
// on when the task has ended; or before that, if the task may still have to wait.
func (p *pull) end(returned *bool) {
	t, c := p.task, p.caller
	p.over, p.caller = true, nil
	p.cleanup.Stop()
	p.endDependant()
	if c == nil {
		return
	}
	if !*returned {
		if v := recover(); v != nil {
			p.fault = panicError(t, t.Name(), v).startedBy(t)
		} else {
			p.exited = true
		}
	}
	if p.exited || t.scope.hasDependants() {
		p.loop.ready(t)
		p.loop.handOver(t, c)
		return
	}
	p.loop.nextTask = c
	if p.loop.observer != nil {
		p.loop.observer.observe(event{kind: taskWoken, task: c})
	}
}

// waitFor makes t, the running task, one that waits for another to hand over.
func (t *Task) waitFor(what string, on uint64) {
	w := t.worker
	t.state, w.reason, w.under, w.since = stateWaiting, Reason{What: what, On: on}, nil, t.scope.loop.now
}

// fail passes on to the caller of next or stop how the sequence has ended, if it did
// not return.
func (p *pull) fail(call string) {
	if e := p.fault; e != nil {
		panic(e.with(stacks.Below(e.Stack, call+" called at", debug.Stack())))
	}
	if p.exited {
		runtime.Goexit()
	}
}

// stopSoon ends the sequence without waiting for that. If it is under way, its next
// yield returns false.
func (p *pull) stopSoon() {
	if p.over || p.closing {
		return
	}
	p.closing = true
	if p.caller == nil {
		p.task.wake(nil)
	}
}

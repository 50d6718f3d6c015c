package rondo

// This file answers one question: is the calling goroutine one of this loop's?
// Functions that take a ctx ask it to refuse callers from outside with a
// sentence; methods fixed by the standard library, net.Conn's above all, ask it
// to tell a task, which they suspend, from any other goroutine, which they let
// block by itself.
//
// A loop's goroutines are that of Run and those of its workers. All of them are
// parked but the one that has the baton, so one that asks has it: there is
// nothing to note at a switch. The set is read by any goroutine at any time, and
// each only ever looks for its own number, which it has put there itself.
//
// One case lies between. A coroutine that a task made with iter.Pull, or with
// package coro, runs on a goroutine of its own, but on the task's side: while it
// runs, the task is parked in its next. It may suspend like the task itself,
// nest and all. It is recognised by the goroutine that made it, which is one of the
// loop's. That takes 10 us, so it is done once for each, and the number is then in
// the set.
//
// A coroutine that a task made and a foreign goroutine drives is taken for the
// task's. It must not use the loop. And one that first calls when the worker on
// which it was made has been retired, long after its maker's end, is taken for
// foreign.

import (
	"slices"
	"sync"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/stacks"
)

// callers is who is on a loop's side.
type callers struct {
	goroutines gid.Set // the numbers of the loop's goroutines
	mu         sync.Mutex
	foreign    map[uint64]bool // coroutines of other goroutines that have called
	nested     []nested
}

// nested is a coroutine that was recognised, and the task that it was nested in.
type nested struct {
	id uint64
	in *Task
	g  uintptr // the runtime's record of it, for those who look from outside
}

// inside reports whether the calling goroutine is on the loop's side: it is the
// running task, a callback, or a coroutine nested in them.
func (l *Loop) inside() bool {
	id := gid.ID()
	return l.goroutines.Has(id) || l.adoptCoroutine(id)
}

// adoptCoroutine reports whether the calling goroutine, which is not in the set, is
// a coroutine that one of the loop's goroutines made, or a coroutine nested in such
// a one, and adds it to the set if it is.
func (l *Loop) adoptCoroutine(id uint64) bool {
	if !gid.Coroutine() || l.isForeign(id) {
		return false
	}
	maker, ok := gid.Creator()
	for ok && !l.goroutines.Has(maker) {
		// Made by a coroutine, perhaps, that has not called the loop itself.
		maker, ok = gid.CreatorOf(maker)
	}
	if !ok {
		l.noteForeign(id)
		return false
	}
	l.goroutines.Add(id)
	l.nest(id, l.current)
	return true
}

// isForeign reports whether the coroutine with the given number was found to be
// none of the loop's.
func (c *callers) isForeign(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.foreign[id]
}

// noteForeign keeps the answer. It is only a shortcut, so when there are many
// they are dropped.
func (c *callers) noteForeign(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.foreign == nil || len(c.foreign) >= 1000 {
		c.foreign = make(map[uint64]bool)
	}
	c.foreign[id] = true
}

// nest notes that the coroutine with the given number is nested in t. Only the
// loop's own goroutines, one at a time, nest and forget. One that has the record
// of another takes its place: that one has ended. So there are never more than the
// program has had goroutines at once, however many a task makes.
func (c *callers) nest(id uint64, t *Task) {
	fresh := nested{id, t, gid.Record()}
	for i, old := range c.nested {
		if old.g == fresh.g && old.g != 0 {
			c.goroutines.Remove(old.id)
			c.nested[i] = fresh
			return
		}
	}
	c.nested = append(c.nested, fresh)
}

// forgetNested drops the nested coroutines of a task that has ended, so that the
// set does not grow for ever. One that goes on in another task is adopted anew.
func (c *callers) forgetNested(t *Task) {
	if len(c.nested) == 0 {
		return
	}
	c.nested = slices.DeleteFunc(c.nested, func(n nested) bool {
		if n.in == t {
			c.goroutines.Remove(n.id)
		}
		return n.in == t
	})
}

// mustBeInside panics if the caller is not on the loop.
func (l *Loop) mustBeInside(call string) {
	if l == nil {
		panic("rondo: " + call + " of a zero value; use one that Rondo has made")
	}
	if !l.inside() {
		panic(l.misuseOutside(call).Error())
	}
}

// misuseOutside is the error of a call from outside the loop.
func (l *Loop) misuseOutside(call string) error {
	if l.inbox.closed() {
		return wrap(call, ErrLoopClosed)
	}
	return &kernel.CallError{Call: call, Text: " from a goroutine that is not a task of " + l.name + "; use Post or Submit there", Err: ErrNoLoop}
}

// do runs fn on the loop: at once if the caller is there, else by Post. After
// the loop's end there is nothing left to do it to.
func (l *Loop) do(fn func()) {
	if l == nil {
		l.mustBeInside(stacks.CalledAs())
	}
	if l.inside() {
		fn()
		return
	}
	_ = l.post(entry{call: &Handle{loop: l, fn: fn}})
}

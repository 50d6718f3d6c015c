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
// One case lies between. A coroutine made with iter.Pull, or with package coro,
// runs on a goroutine of its own, but on the side of the one that resumed it: while
// it runs, that one is parked in next. If a task resumed it, it may suspend as the
// task itself may, and so may one that it resumes in turn. Who made it is not
// asked.

import (
	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
)

// callers is who is on a loop's side.
type callers struct {
	goroutines gid.Set // the numbers of the loop's goroutines

	// The coroutines that have called the loop, in the tasks that resumed them. The
	// loop itself has no use for them; readers from outside have.
	nested  []nested
	records map[uintptr]int32 // the place of each, plus one, by its record
	free    int32             // the first free place, plus one; next leads to the others
}

// nested is a coroutine, and the task that it is nested in. A free place has no
// task.
type nested struct {
	id         uint64
	in         *Task
	g          uintptr // the runtime's record of it
	next, prev int32   // the places of its neighbours among those in the task, plus one
}

// inside reports whether the calling goroutine is on the loop's side: it is the
// running task, a callback, or a coroutine nested in them.
func (l *Loop) inside() bool {
	return l.goroutines.Has(gid.ID()) || gid.Coroutine() && l.insideNested()
}

// insideNested reports whether the caller is a coroutine that one of the loop's
// goroutines has resumed, or that is nested in such a one.
func (l *Loop) insideNested() bool {
	n := 0
	for id := range gid.Resumers() {
		if l.goroutines.Has(id) {
			l.noteNested(l.current, gid.ID(), gid.Record())
			return true
		}
		if n++; n%32 == 0 && ofAnyLoop(id) {
			// The workers of a loop are coroutines too, and each is parked where
			// another one was born.
			return false
		}
	}
	return false
}

// ofAnyLoop reports whether the goroutine with the given number is a loop's.
func ofAnyLoop(id uint64) bool {
	loops.Lock()
	defer loops.Unlock()
	for _, l := range loops.live {
		if l.goroutines.Has(id) {
			return true
		}
	}
	return false
}

// noteNested notes that a coroutine, known by its number and its record, is nested
// in t, unless that is noted.
// One that has the record of another takes its place: that one has ended. So there
// are never more than the program has had goroutines at once, however many a task
// makes.
func (c *callers) noteNested(t *Task, id uint64, g uintptr) {
	if t == nil || g == 0 {
		return
	}
	i := c.records[g]
	switch {
	case i == 0:
		i = c.place()
	case c.nested[i-1].id == id && c.nested[i-1].in == t:
		return
	default:
		c.unlink(i)
	}
	if t.extra == nil {
		t.extra = new(taskExtra)
	}
	x := t.extra
	c.nested[i-1] = nested{id: id, in: t, g: g, next: x.nested}
	if x.nested != 0 {
		c.nested[x.nested-1].prev = i
	}
	x.nested, c.records[g] = i, i
}

// place returns a free place, plus one.
func (c *callers) place() int32 {
	if c.records == nil {
		c.records = make(map[uintptr]int32)
	}
	i := c.free
	if i == 0 {
		c.nested = append(c.nested, nested{})
		return int32(len(c.nested))
	}
	c.free = c.nested[i-1].next
	return i
}

// unlink takes the coroutine at place i-1 out of its task.
func (c *callers) unlink(i int32) {
	n := &c.nested[i-1]
	if n.next != 0 {
		c.nested[n.next-1].prev = n.prev
	}
	if n.prev != 0 {
		c.nested[n.prev-1].next = n.next
	} else {
		n.in.extra.nested = n.next
	}
}

// forgetNested drops the nested coroutines of a task that has ended. One that goes
// on in another task is noted there.
func (c *callers) forgetNested(t *Task) {
	if t.extra == nil {
		return
	}
	for i := t.extra.nested; i != 0; {
		n := &c.nested[i-1]
		delete(c.records, n.g)
		next := n.next
		*n = nested{next: c.free}
		c.free, i = i, next
	}
	t.extra.nested = 0
	if len(c.records) == 0 {
		c.nested, c.records, c.free = nil, nil, 0
	}
}

// mustBeInside panics if the caller is not on the loop.
func (l *Loop) mustBeInside(call string) {
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
	if l.inside() {
		fn()
		return
	}
	_ = l.post(entry{call: &Handle{loop: l, fn: fn}})
}

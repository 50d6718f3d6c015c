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
// nest and all. It is recognised by who made it: a goroutine of the loop's. That
// takes 10 us, so it is done once for each, and the number is then in the set.
//
// A coroutine that a task made and a foreign goroutine drives is taken for the
// task's. It must not use the loop. And one that is first heard of when the worker
// on which it was made has been dismissed, long after its maker's end, is taken
// for foreign.

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rondo-go/rondo/internal/gid"
)

// crew is the set of the numbers of a loop's goroutines: open addressing, a
// number at most half a table away from its place, which is its lowest bits;
// the runtime gives numbers in runs. 0 is a free place, gone one that was left.
type crew struct {
	table   atomic.Pointer[[]atomic.Uint64]
	mu      sync.Mutex // held by who changes the set
	taken   int        // places that are not free
	nested  []nested
	foreign map[uint64]bool // coroutines of other goroutines that have called
}

const gone = ^uint64(0)

// nested is a coroutine that was recognised, and the task that it was nested in.
type nested struct {
	id uint64
	in *Task
	g  uintptr // the runtime's record of it, for those who look from outside
}

func (c *crew) has(id uint64) bool {
	table := *c.table.Load()
	for i := id; ; i++ {
		switch table[i&uint64(len(table)-1)].Load() {
		case id:
			return true
		case 0:
			return false
		}
	}
}

// add puts id into the set. A table that gets half full is replaced by one with
// room; who still reads the old one does not look for what is only in the new.
func (c *crew) add(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var table []atomic.Uint64
	if old := c.table.Load(); old != nil {
		table = *old
	}
	if 2*c.taken >= len(table) {
		table = c.rebuild(table)
	}
	put(table, id)
	c.taken++
}

func put(table []atomic.Uint64, id uint64) {
	i := id
	for table[i&uint64(len(table)-1)].Load() != 0 {
		i++
	}
	table[i&uint64(len(table)-1)].Store(id)
}

// rebuild makes a table with four times as many places as there are numbers.
func (c *crew) rebuild(old []atomic.Uint64) []atomic.Uint64 {
	var ids []uint64
	for i := range old {
		if id := old[i].Load(); id != 0 && id != gone {
			ids = append(ids, id)
		}
	}
	size := 64
	for size < 4*len(ids) {
		size *= 2
	}
	table := make([]atomic.Uint64, size)
	for _, id := range ids {
		put(table, id)
	}
	c.taken = len(ids)
	c.table.Store(&table)
	return table
}

func (c *crew) remove(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	table := *c.table.Load()
	for i := id; ; i++ {
		switch place := &table[i&uint64(len(table)-1)]; place.Load() {
		case id:
			place.Store(gone)
			return
		case 0:
			return
		}
	}
}

// disband empties the set when the loop has ended: the goroutine of Run goes on,
// and may be that of another loop's Run next.
func (c *crew) disband() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebuild(nil)
}

// inside tells whether the calling goroutine is on the loop's side: it is the
// running task, a callback, or a coroutine nested in them.
func (l *Loop) inside() bool {
	id := gid.ID()
	return l.crew.has(id) || l.recognise(id)
}

// recognise tells whether the calling goroutine, which is not in the set, is a
// coroutine that one of the loop's goroutines made, or a coroutine nested in
// such a one, and notes it if it is.
func (l *Loop) recognise(id uint64) bool {
	if !gid.Coroutine() || l.crew.isForeign(id) {
		return false
	}
	maker, ok := gid.Creator()
	for ok && !l.crew.has(maker) {
		// Made by a coroutine, perhaps, that has not called the loop itself.
		maker, ok = gid.CreatorOf(maker)
	}
	if !ok {
		l.crew.noteForeign(id)
		return false
	}
	l.crew.add(id)
	l.crew.nest(id, l.current)
	return true
}

// isForeign tells whether the coroutine with the given number was found to be
// none of the loop's.
func (c *crew) isForeign(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.foreign[id]
}

// noteForeign keeps the answer. It is only a shortcut, so when there are many
// they are dropped.
func (c *crew) noteForeign(id uint64) {
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
func (c *crew) nest(id uint64, t *Task) {
	fresh := nested{id, t, gid.Record()}
	for i, old := range c.nested {
		if old.g == fresh.g && old.g != 0 {
			c.remove(old.id)
			c.nested[i] = fresh
			return
		}
	}
	c.nested = append(c.nested, fresh)
}

// forget drops the nested coroutines of a task that has ended, so that the set
// does not grow for ever. One that goes on in another task is recognised anew.
func (c *crew) forget(t *Task) {
	c.nested = slices.DeleteFunc(c.nested, func(n nested) bool {
		if n.in == t {
			c.remove(n.id)
		}
		return n.in == t
	})
}

// mustBeInside panics if the caller is not on the loop.
func (l *Loop) mustBeInside(call string) {
	if !l.inside() {
		panic(l.misuseOutside(call).Error())
	}
}

// misuseOutside is the error of a call from outside the loop.
func (l *Loop) misuseOutside(call string) error {
	if l.door.closed() {
		return misuse(call, ErrLoopClosed)
	}
	return fmt.Errorf("rondo: %s from a goroutine that is not a task of %s; use Post or Submit: %w", call, l.name, ErrNoLoop)
}

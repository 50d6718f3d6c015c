package rondo

// This file answers one question: does the calling goroutine hold the baton of
// this loop? Functions that take a ctx ask it to refuse callers from outside
// with a sentence; methods fixed by the standard library, net.Conn's above all,
// ask it to tell a task, which they suspend, from any other goroutine, which
// they let block by itself.
//
// The usual answer compares the number of the calling goroutine with that of
// the holder, two loads. It is asked by goroutines that run at the same time,
// so the holder is an atomic; a number is only ever stored by the goroutine it
// belongs to, so a stale one can not be taken for the caller's own.
//
// One case lies between. A coroutine that a task made with iter.Pull, or with
// package coro, runs on a goroutine of its own, but on the task's side: while it
// runs, the task is parked in its next. It holds the baton, and may suspend like
// the task itself, nest and all. It is recognised by who made it: a goroutine
// that the loop knows. That is slow, 10 us, so it is done once for each.
//
// A coroutine that a task made and a foreign goroutine drives is taken for the
// task. It must not use the loop.

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rondo-go/rondo/internal/gid"
)

// holder is the number of the goroutine that holds the baton.
type holder struct{ id atomic.Uint64 }

func (h *holder) load() uint64 { return h.id.Load() }

// take notes that the calling goroutine, whose number is id, has the baton.
func (h *holder) take(id uint64) {
	if h.id.Load() != id {
		h.id.Store(id)
	}
}

// inside tells whether the calling goroutine is on the loop's side: it is the
// running task, a callback, or a coroutine nested in them.
func (l *Loop) inside() bool {
	id := gid.ID()
	return id == l.holder.load() || l.insideNested(id)
}

// crew is the goroutines that a loop knows as its own: those of its workers,
// that of Run, and the nested coroutines that were recognised.
type crew struct {
	mu      sync.Mutex
	workers []*worker
	run     uint64
	nested  map[uint64]*Task // by number; the task is the one they are nested in
}

// enlist adds w, whose goroutine calls, and gives that goroutine's number.
func (c *crew) enlist(w *worker) uint64 {
	id := gid.ID()
	c.mu.Lock()
	defer c.mu.Unlock()
	w.crew = len(c.workers)
	c.workers = append(c.workers, w)
	return id
}

func (c *crew) leave(w *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.workers) - 1
	c.workers[w.crew] = c.workers[last]
	c.workers[w.crew].crew = w.crew
	c.workers[last] = nil
	c.workers = c.workers[:last]
}

// forget drops the nested coroutines of a task that has ended. One that goes on
// in another task is recognised anew.
func (c *crew) forget(t *Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, of := range c.nested {
		if of == t {
			delete(c.nested, id)
		}
	}
	if len(c.nested) == 0 {
		c.nested = nil
	}
}

// insideNested is inside for a goroutine that is not the holder by its number.
// Either it is not on the loop's side at all; or it is a nested coroutine, or
// the goroutine to which a nested coroutine that held the baton has returned.
func (l *Loop) insideNested(id uint64) bool {
	c := &l.crew
	c.mu.Lock()
	_, known := c.nested[id]
	known = known || id == c.run
	c.mu.Unlock()
	if !known {
		if !gid.Coroutine() {
			return false
		}
		maker, ok := gid.Creator()
		if !ok || !c.has(maker) {
			return false
		}
		c.add(id, l.current)
	}
	l.holder.take(id)
	return true
}

func (c *crew) has(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.nested[id]; ok || id == c.run {
		return true
	}
	return slices.ContainsFunc(c.workers, func(w *worker) bool { return w.id == id })
}

func (c *crew) add(id uint64, t *Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nested == nil {
		c.nested = make(map[uint64]*Task)
	}
	c.nested[id] = t
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

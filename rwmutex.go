package rondo

// An RWMutex keeps its waiters in a line of runs: a run has tasks that came one after the
// other and ask for the same, in a WaitList of its own.
//
// The law: if the line is not empty, no task at its head can be let in, or a cancelled task
// that is counted at its head has not run yet. So a task that finds no line and the RWMutex
// free overtakes none.

import (
	"context"

	"github.com/rondo-go/rondo/internal/nocopy"
)

// An RWMutex lets in any number of tasks that read, or one that writes. It is fair: a task that
// waits to write holds up those that ask to read after it, and readers that stand next to each
// other in the line are let in together. So a task that reads must not ask to read again: with
// a writer between the two it would wait for itself. The zero value is unlocked.
//
// Like a Mutex it is for the tasks of one loop, and only for stretches of code
// that wait somewhere inside.
type RWMutex struct {
	_ nocopy.Field

	// Name identifies the RWMutex in rondo tree and in reports.
	Name string

	writing bool
	writer  *Task           // the task that writes, if it is known
	ctx     context.Context // the writer's
	handed  bool            // for writing, to a task that was woken and has not run since
	readers int

	line line
}

// Lock waits until nobody reads or writes and all who came before have had their
// turn, and takes the RWMutex for writing. If ctx is cancelled first it returns
// the cause and has not taken it.
func (m *RWMutex) Lock(ctx context.Context) error {
	me := Current(ctx) // here, because a method of ctx may panic: after the wait, m would stay locked
	if !m.writing && m.readers == 0 {
		if err := Checkpoint(ctx); err != nil {
			return err
		}
	}
	if m.writing || m.readers > 0 {
		if err := m.wait(ctx, true, Reason{What: "lock"}); err != nil {
			return err
		}
	}
	m.writing, m.handed = true, false
	m.writer, m.ctx = me, ctx
	m.setOwner()
	return nil
}

// TryLock takes the RWMutex for writing if nobody has it, and reports whether it did. It never
// suspends. TryLock does not record which task has the RWMutex, so any task may unlock it.
func (m *RWMutex) TryLock() bool {
	if m.writing || m.readers > 0 {
		return false
	}
	m.writing = true
	return true
}

// Unlock releases the write lock and lets in the first in the line: one writer, or all readers
// up to the next writer. It never suspends. It panics if the RWMutex is not locked for writing,
// or if another task than the caller has locked it and has not ended. A callback may unlock it.
func (m *RWMutex) Unlock() {
	if !m.writing {
		panic("rondo: Unlock of unlocked RWMutex: call it once for each Lock that returned nil")
	}
	if m.handed || m.writer != nil && Current(m.ctx) != m.writer && Current(m.ctx) != nil && !m.writer.Done() {
		panic("rondo: Unlock of an RWMutex that another task has locked: only the task that locked it may call it")
	}
	m.writing, m.writer, m.ctx = false, nil, nil
	m.setOwner()
	m.admit()
}

// RLock waits until nobody writes and nobody who came before waits to write, and takes the
// RWMutex for reading. If ctx is cancelled first it returns the cause and has not taken it.
func (m *RWMutex) RLock(ctx context.Context) error {
	if !m.writing && m.line.head == nil {
		if err := Checkpoint(ctx); err != nil {
			return err
		}
	}
	if m.writing || m.line.head != nil {
		// A reader is counted by the call that lets it in.
		return m.wait(ctx, false, Reason{What: "rlock"})
	}
	m.readers++
	return nil
}

// TryRLock takes the RWMutex for reading if nobody writes or waits to write, and
// reports whether it did. It never suspends.
func (m *RWMutex) TryRLock() bool {
	if m.writing || m.line.head != nil {
		return false
	}
	m.readers++
	return true
}

// RUnlock releases the read lock of one task. It never suspends. It panics if nobody reads.
func (m *RWMutex) RUnlock() {
	if m.readers == 0 {
		panic("rondo: RUnlock of an RWMutex that is not locked for reading: call it once for each RLock that returned nil")
	}
	m.readers--
	m.admit()
}

// wait stands at the end of the line until admit comes to it.
func (m *RWMutex) wait(ctx context.Context, write bool, why Reason) error {
	if err := Check(ctx); err != nil {
		return err // before a run is made that nobody would be in
	}
	r := m.line.last(write)
	m.setOwner()
	r.counted++
	r.list.Of = &m.Name
	admitted := false
	defer func() { // also if a method of ctx panics
		if !admitted {
			if r.counted--; r.counted == 0 {
				m.line.remove(r)
				m.setOwner()
			}
			m.admit() // it may have been the writer that held up readers
		}
	}()
	err := r.list.Park(ctx, why)
	admitted = err == nil
	return err
}

// admit lets in the tasks at the head of the line that can come in.
func (m *RWMutex) admit() {
	for r := m.line.head; r != nil && !m.writing; r = m.line.head {
		switch {
		case !r.write:
			n := r.list.WakeAll()
			r.counted -= n
			m.readers += n
		case m.readers > 0:
			return
		case r.list.Wake():
			r.counted--
			m.writing, m.handed = true, true
			if r.counted > 0 {
				return
			}
		}
		m.line.shorten()
	}
}

// setOwner notes for which task the first in the line wait: for none as long as nobody writes.
// Those behind them wait for the ones in front.
func (m *RWMutex) setOwner() {
	if r := m.line.head; r != nil {
		r.list.Owner = m.writer
	}
}

// A line is a list of runs, in the order in which their first members came. The zero
// value is empty.
type line struct {
	head, tail *run
	spare      *run // runs to be used again
}

// A run is a stretch of a line in which all ask for the same. Its members wait in list.
type run struct {
	list    WaitList
	write   bool // they ask to write, and not to read
	counted int  // members, and those that were cancelled and have not run since
	next    *run
	prev    *run // nil for the head, and for a run that has left the line
}

// last returns the run at the end of the line, or adds one if that run asks for something
// else.
func (l *line) last(write bool) *run {
	if l.tail != nil && l.tail.write == write {
		return l.tail
	}
	r := l.spare
	if r == nil {
		r = new(run)
	} else {
		l.spare, r.next = r.next, nil
	}
	r.write = write
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.next, r.prev = r, l.tail
	}
	l.tail = r
	return r
}

// shorten removes the first run.
func (l *line) shorten() { l.remove(l.head) }

// remove removes r, unless it has left the line before. A run that still counts a member is not
// used again: that member will come and count itself off.
func (l *line) remove(r *run) {
	switch {
	case r.prev != nil:
		r.prev.next = r.next
	case l.head == r:
		l.head = r.next
	default:
		return
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		l.tail = r.prev
	}
	r.next, r.prev, r.list.Owner = nil, nil, nil
	if r.counted == 0 {
		r.next, l.spare = l.spare, r
	}
}

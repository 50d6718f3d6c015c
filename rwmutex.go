package rondo

// This file has the RWMutex. Its line is a list of runs, each with tasks that
// came one after the other and ask for the same (internal/line); the tasks of a run
// wait in a WaitList of its own.
//
// The law: if the line has a head, no task at the head could come in, or a cancelled
// task has yet to run that is counted there. So a task that finds no line and the
// RWMutex free overtakes none.

import (
	"context"

	"github.com/rondo-go/rondo/internal/line"
)

// An RWMutex lets in any number of tasks that read, or one that writes. It is fair: a task that
// waits to write holds up those that ask to read after it, and those that waited to read one
// after the other come in together. So a task that reads must not ask to read again: with a
// writer between the two it would wait for itself. The zero value is unlocked.
//
// Like a Mutex it is for the tasks of one loop, and only for stretches of code
// that wait somewhere inside.
type RWMutex struct {
	// Name is for people who look at the program.
	Name string

	writing bool
	writer  *Task           // the task that writes, if it is known
	ctx     context.Context // the writer's
	handed  bool            // for writing, to a task that was woken and has not run since
	readers int

	line line.Line[WaitList]
}

// Lock waits until nobody reads or writes and all who came before have had their
// turn, and takes the RWMutex for writing. If ctx is cancelled first it returns
// the cause and has not taken it.
func (m *RWMutex) Lock(ctx context.Context) error {
	if m.writing || m.readers > 0 {
		if err := m.wait(ctx, true, Reason{What: "lock"}); err != nil {
			return err
		}
	} else if err := Check(ctx); err != nil {
		return err
	}
	m.writing, m.handed = true, false
	m.writer, m.ctx = Current(ctx), ctx
	m.setOwner()
	return nil
}

// TryLock takes the RWMutex for writing if nobody has it, and reports whether it did. It
// never suspends. Which task has it is not known then, so any task may unlock it.
func (m *RWMutex) TryLock() bool {
	if m.writing || m.readers > 0 {
		return false
	}
	m.writing = true
	return true
}

// Unlock ends the writing and lets in the first in the line: one task that
// writes, or all that read up to the next that writes. It never suspends. It
// panics if the RWMutex is not locked for writing, or if another task than the
// caller has locked it and has not ended. A callback may unlock it.
func (m *RWMutex) Unlock() {
	if !m.writing {
		panic("rondo: Unlock of unlocked RWMutex: call it once for each Lock that returned nil")
	}
	if m.handed || m.writer != nil && Current(m.ctx) != m.writer && Current(m.ctx) != nil && !m.writer.Done() {
		panic("rondo: Unlock of an RWMutex that another task has locked: only the task that locked it may call it")
	}
	m.writing, m.writer, m.ctx = false, nil, nil
	m.admit()
}

// RLock waits until nobody writes and nobody who came before waits to write, and takes the
// RWMutex for reading. If ctx is cancelled first it returns the cause and has not taken it.
func (m *RWMutex) RLock(ctx context.Context) error {
	if m.writing || m.line.Head() != nil {
		// A reader is counted by the call that lets it in.
		return m.wait(ctx, false, Reason{What: "rlock"})
	}
	if err := Check(ctx); err != nil {
		return err
	}
	m.readers++
	return nil
}

// TryRLock takes the RWMutex for reading if nobody writes or waits to write, and
// reports whether it did. It never suspends.
func (m *RWMutex) TryRLock() bool {
	if m.writing || m.line.Head() != nil {
		return false
	}
	m.readers++
	return true
}

// RUnlock ends the reading of one task. It never suspends. It panics if nobody reads.
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
	r := m.line.Last(write)
	m.setOwner()
	r.Counted++
	r.List.Of = &m.Name
	err := r.List.Park(ctx, why)
	if err != nil {
		r.Counted--
		m.admit() // it may have been the writer that held up readers
	}
	return err
}

// admit lets in the tasks at the head of the line that can come in.
func (m *RWMutex) admit() {
	for r := m.line.Head(); r != nil && !m.writing; r = m.line.Head() {
		switch {
		case !r.Write:
			n := r.List.WakeAll()
			r.Counted -= n
			m.readers += n
		case m.readers > 0:
			if r.Counted > 0 {
				return
			}
		case r.List.Wake():
			r.Counted--
			m.writing, m.handed = true, true
			if r.Counted > 0 {
				return
			}
		}
		r.List.Owner = nil
		m.line.Shorten()
		m.setOwner()
	}
}

// setOwner notes for which task the first in the line wait. Those behind them wait
// for the ones in front.
func (m *RWMutex) setOwner() {
	if r := m.line.Head(); r != nil {
		r.List.Owner = m.writer
	}
}

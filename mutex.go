package rondo

import "context"

// A Mutex lets one task at a time into a stretch of code that waits somewhere
// inside; code that does not wait needs none. It is fair: tasks get it in the
// order in which they asked. It is not re-entrant. The zero value is unlocked.
//
// A Mutex is for the tasks of one loop. Between goroutines use sync.Mutex, and
// never hold that one while waiting: it would stop the loop.
type Mutex struct {
	// Name identifies the Mutex in rondo tree and in reports.
	Name string

	locked  bool
	handed  bool            // to a task that Unlock has woken and that has not run since
	holder  context.Context // that of Lock; nil if the holder is not known
	waiters WaitList
}

// Lock waits until the Mutex is free and takes it. If ctx is cancelled first it
// returns the cause and has not taken it.
func (m *Mutex) Lock(ctx context.Context) error {
	me := Current(ctx) // here, because a method of ctx may panic: after the wait, m would stay locked
	if !m.locked {
		if err := Checkpoint(ctx); err != nil {
			return err
		}
	}
	if m.locked {
		// Unlock leaves the Mutex locked if a task waits for it, so that no other
		// comes in between: the task that is woken holds it.
		m.waiters.Of = &m.Name
		if err := m.waiters.Park(ctx, Reason{What: "lock"}); err != nil {
			return err
		}
	}
	m.locked, m.handed = true, false
	m.holder, m.waiters.Owner = ctx, me
	return nil
}

// TryLock takes the Mutex if it is free and reports whether it did. It never suspends. TryLock
// does not record which task has the Mutex, so any task may unlock it.
func (m *Mutex) TryLock() bool {
	if m.locked {
		return false
	}
	m.locked = true
	return true
}

// Unlock gives the Mutex to the task that has waited longest for it, or frees
// it. It never suspends. It panics if the Mutex is not locked, or if another task
// than the caller has locked it and has not ended. A callback may unlock it.
func (m *Mutex) Unlock() {
	if !m.locked {
		panic("rondo: Unlock of unlocked Mutex: call it once for each Lock that returned nil")
	}
	if holder := m.waiters.Owner; m.handed || holder != nil && Current(m.holder) != holder && Current(m.holder) != nil && !holder.Done() {
		panic("rondo: Unlock of a Mutex that another task has locked: only the task that locked it may call it")
	}
	m.holder, m.waiters.Owner = nil, nil
	m.handed = m.waiters.Wake()
	m.locked = m.handed
}

package rondo

import "context"

// A Cond lets tasks wait for a change of the state that L guards. A task that changes the state
// calls Signal or Broadcast, and the tasks that this wakes check the condition again.
//
//	for !condition() {
//		if err := c.Wait(ctx); err != nil {
//			return err
//		}
//	}
//
// State that is changed without waiting needs no lock at all: use an Event, a Queue or a
// WaitList then. L must be set before the first Wait and not be changed afterwards. A Cond is
// for the tasks of one loop.
type Cond struct {
	L *Mutex

	// Name identifies the Cond in rondo tree and in reports.
	Name string

	waiters WaitList
}

// Wait unlocks L, waits for Signal or Broadcast, and locks L again. L is held when it returns,
// whatever it returns, and when a method of ctx panics. If ctx is cancelled before the task is
// woken, Wait returns the cause, after it has locked L, however long that takes. A task that was
// woken has used the Signal up, so its Wait returns nil, even if ctx is cancelled while it waits
// for L.
//
// Wait panics if L is not locked, and if it cannot be locked again because the
// loop is in deadlock.
func (c *Cond) Wait(ctx context.Context) error {
	if c.L == nil {
		panic("rondo: Cond.Wait without L: set L to a Mutex, and lock it before Wait")
	}
	if c.L.TryLock() {
		c.L.Unlock()
		panic("rondo: Cond.Wait with L unlocked: lock it before Wait")
	}
	if err := Check(ctx); err != nil {
		return err
	}
	c.L.Unlock()
	settled := false
	defer func() {
		if !settled && !c.L.TryLock() {
			_ = c.L.Lock(context.WithoutCancel(ctx))
		}
	}()
	c.waiters.Of = &c.Name
	err := c.waiters.Park(ctx, Reason{What: "cond"})
	free := c.L.TryLock()
	if free {
		c.L.Unlock()
	}
	if !free || ctx.Err() != nil || c.L.Lock(ctx) != nil {
		// A cancelled ctx is no way around the lock, and a deadline that passes
		// meanwhile ends no wait. Only a deadlock ends this one; to return would let
		// the caller unlock what another task has locked.
		if Shield(ctx, c.L.Lock) != nil {
			panic("rondo: Cond.Wait cannot lock L again: in a deadlock, its holder does not unlock it")
		}
	}
	settled = true
	return err
}

// Signal wakes the task that has waited longest, if any waits. The caller need not hold L. It
// should if tasks wait for something else between checking the condition and calling Wait: then
// no Signal can come in between and be missed. It never suspends.
func (c *Cond) Signal() { c.waiters.Wake() }

// Broadcast wakes all tasks that wait, and none that comes later. As with
// Signal the caller need not hold L. It never suspends.
func (c *Cond) Broadcast() { c.waiters.WakeAll() }

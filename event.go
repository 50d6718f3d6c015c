package rondo

import "context"

// An Event is a flag that tasks can wait for. The zero value is not set.
type Event struct {
	// Name identifies the Event in rondo tree and in reports.
	Name string

	set     bool
	waiters WaitList
}

// Set sets the flag and wakes all tasks that wait for it, even if Clear follows at once. It
// never suspends.
func (e *Event) Set() {
	e.set = true
	e.waiters.WakeAll()
}

// Clear resets the flag. It never suspends.
func (e *Event) Clear() { e.set = false }

// IsSet reports whether the flag is set.
func (e *Event) IsSet() bool { return e.set }

// Wait waits until the flag is set. If it is, Wait does what Checkpoint does. If ctx is
// cancelled first it returns the cause.
func (e *Event) Wait(ctx context.Context) error {
	if e.set {
		return Checkpoint(ctx)
	}
	e.waiters.Of = &e.Name
	return e.waiters.Park(ctx, Reason{What: "event"})
}

// WaitCase is Wait as a case of a Select.
func (e *Event) WaitCase() Case { return Case{On: (*eventCase)(e)} }

type eventCase Event

func (e *eventCase) Try(context.Context, any) (bool, error) { return e.set, nil }

func (e *eventCase) Begin(context.Context) (*WaitList, Reason) {
	e.waiters.Of = &e.Name
	return &e.waiters, Reason{What: "event"}
}

func (e *eventCase) End(any, bool) error { return nil }

package rondo

import (
	"context"
	"unsafe"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/nocopy"
)

// A Semaphore has a number of permits, and so limits how many tasks do something at once. It is
// fair: tasks get permits in the order in which they asked. It does not matter which task
// releases one. Make one with NewSemaphore; the zero value has no permits until Resize. It is for
// the tasks of one loop.
type Semaphore struct {
	_ nocopy.Field

	// Name identifies the Semaphore in rondo tree and in reports.
	Name string

	permits int
	held    int
	// Tasks wait only while the first of them cannot have what it wants. So a task that
	// finds enough permits while none waits overtakes none.
	waiting list.List[request]
	free    *request // one for the next task that waits
}

// A request asks for n permits for one task.
type request struct {
	n       int
	task    WaitList
	pending bool // it is among those of the Semaphore that wait
	links   list.Links[request]
}

const requestLinks = unsafe.Offsetof(request{}.links)

// NewSemaphore makes a Semaphore with n permits. With 0 no task gets one until
// Resize. It panics if n is negative.
func NewSemaphore(n int) *Semaphore {
	if n < 0 {
		panic("rondo: NewSemaphore with a negative number")
	}
	return &Semaphore{permits: n}
}

// Acquire waits until there is a permit and takes it. If ctx is cancelled first
// it returns the cause and has taken none.
func (s *Semaphore) Acquire(ctx context.Context) error { return s.acquire(ctx, 1) }

// AcquireN is Acquire for n permits, which are taken together. A task that waits for many holds
// up those that come after it, so it gets them in the end. If the Semaphore has fewer than n
// permits in all, it waits for Resize. AcquireN panics if n is negative.
func (s *Semaphore) AcquireN(ctx context.Context, n int) error {
	mustCount("AcquireN", n)
	return s.acquire(ctx, n)
}

func (s *Semaphore) acquire(ctx context.Context, n int) error {
	if s.has(n) {
		if err := Checkpoint(ctx); err != nil {
			return err
		}
		if s.has(n) {
			s.held += n
			return nil
		}
	}
	r := s.free
	if s.free = nil; r == nil {
		r = new(request)
	}
	r.n, r.pending, r.task.Of = n, true, &s.Name
	s.waiting.Add(r, requestLinks)
	// The call that wakes the task has counted its permits as held.
	err := r.task.Park(ctx, Reason{What: "semaphore"})
	if r.pending { // it was cancelled, and may have held others up
		s.drop(r)
		s.admit()
	}
	s.free = r
	return err
}

// TryAcquire takes a permit if there is one, and reports whether it did. It never suspends.
func (s *Semaphore) TryAcquire() bool { return s.TryAcquireN(1) }

// TryAcquireN takes n permits if that many are free and no task waits, and reports whether it
// did. It never suspends. It panics if n is negative.
func (s *Semaphore) TryAcquireN(n int) bool {
	mustCount("TryAcquireN", n)
	if !s.has(n) {
		return false
	}
	s.held += n
	return true
}

// has reports whether there are n permits that no task waits for.
func (s *Semaphore) has(n int) bool {
	if s.waiting.First() != nil && s.awaited() {
		return false
	}
	return n <= s.permits-s.held
}

// Release returns a permit, which goes to the task that has waited longest if there is one. It
// never suspends. It panics if no permit is held, because there would be more permits then than
// the Semaphore has.
func (s *Semaphore) Release() {
	if s.held == 0 {
		panic("rondo: Release of a Semaphore none of whose permits is held: call it once for each Acquire that returned nil")
	}
	s.ReleaseN(1)
}

// ReleaseN is Release for n permits. It panics if n is negative, or if fewer than n are held.
func (s *Semaphore) ReleaseN(n int) {
	mustCount("ReleaseN", n)
	if s.held < n {
		panic("rondo: ReleaseN of more permits of a Semaphore than are held")
	}
	s.held -= n
	s.admit()
}

func mustCount(call string, n int) {
	if n < 0 {
		panic("rondo: Semaphore." + call + " with a negative number")
	}
}

// Resize changes the number of permits to n. If more than n are held, the holders keep them,
// and the number falls to n as they release. It never suspends. It panics if n is negative.
func (s *Semaphore) Resize(n int) {
	mustCount("Resize", n)
	s.permits = n
	s.admit()
}

// awaited reports whether a task waits. Tasks that were cancelled and have not run since do not
// count: it takes them off the line.
func (s *Semaphore) awaited() bool {
	s.admit()
	return s.waiting.First() != nil
}

// admit gives the tasks that wait their permits, in their order.
func (s *Semaphore) admit() {
	for r := s.waiting.First(); r != nil; r = s.waiting.First() {
		if r.task.Len() > 0 && r.n > s.permits-s.held {
			return
		}
		s.drop(r)
		if r.task.Wake() {
			s.held += r.n
		}
	}
}

func (s *Semaphore) drop(r *request) {
	s.waiting.Remove(r, requestLinks)
	r.pending = false
}

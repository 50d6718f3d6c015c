package rondo

import "context"

// A Semaphore has a number of permits, and lets so many tasks at once into
// something. It is fair: tasks get permits in the order in which they asked. It
// does not matter which task releases one. Make one with NewSemaphore; it is
// for the tasks of one loop.
type Semaphore struct {
	// Name is for people who look at the program.
	Name string

	permits int
	held    int
	// Tasks wait only while held >= permits. So a task that finds a permit
	// overtakes none.
	waiters WaitList
}

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
func (s *Semaphore) Acquire(ctx context.Context) error {
	if s.held >= s.permits {
		// The call that wakes the task has counted its permit as held.
		s.waiters.Of = &s.Name
		return s.waiters.Park(ctx, Reason{What: "semaphore"})
	}
	if err := Check(ctx); err != nil {
		return err
	}
	s.held++
	return nil
}

// TryAcquire takes a permit if there is one, and reports whether it did. It
// never suspends.
func (s *Semaphore) TryAcquire() bool {
	if s.held >= s.permits {
		return false
	}
	s.held++
	return true
}

// Release gives a permit back, to the task that has waited longest if there is
// one. It never suspends. It panics if no permit is held, because there would be
// more permits then than the Semaphore has.
func (s *Semaphore) Release() {
	if s.held == 0 {
		panic("rondo: Release of a Semaphore none of whose permits is held: call it once for each Acquire that returned nil")
	}
	s.held--
	s.admit()
}

// Resize changes the number of permits to n. If more than n are held, none is
// taken away: they become fewer as they are released. It never suspends. It
// panics if n is negative.
func (s *Semaphore) Resize(n int) {
	if n < 0 {
		panic("rondo: Semaphore.Resize with a negative number")
	}
	s.permits = n
	s.admit()
}

func (s *Semaphore) admit() {
	for s.held < s.permits && s.waiters.Wake() {
		s.held++
	}
}

// Package loopset has the set of the loops of a process.
//
// The law: any goroutine may read it at any time. The lock is held for a few
// instructions only, and never while anything of the program runs.
package loopset

import (
	"slices"
	"sync"
)

// A Set has the loops that live, in the order in which they were added. The zero
// value is empty.
type Set[L any] struct {
	mu   sync.Mutex
	last uint64

	// Live is what All returns. Only those who read the memory of the process from
	// outside use it.
	Live []*L
}

// Number returns the number of a loop that is to be added: 1 for the first, and for
// each one more.
func (s *Set[L]) Number() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

// Add adds a loop.
func (s *Set[L]) Add(l *L) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Live = append(s.Live, l)
}

// Remove removes a loop, which must be in the set.
func (s *Set[L]) Remove(l *L) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.Live, l)
	s.Live = slices.Delete(s.Live, i, i+1)
}

// All returns the loops that live.
func (s *Set[L]) All() []*L {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.Live)
}

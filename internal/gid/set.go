package gid

import (
	"sync"
	"sync/atomic"
)

// A Set is a set of goroutine numbers that any goroutine may ask for its own
// number without a lock. It is an open-addressed table; a number's place comes
// from a multiplicative hash, because the runtime hands out numbers in runs, and
// runs would make long searches.
//
// The law: a goroutine looks only for its own number, which it or the goroutine
// that resumed it has added. So a reader that still has an old table, from before
// it was rebuilt, misses nothing it looks for.
//
// The zero value is empty. Has, Add, Remove and Clear may be called by any
// goroutine.
type Set struct {
	table atomic.Pointer[[]atomic.Uint64] // 0 is a free place, removed one that was left
	mu    sync.Mutex                      // held to change the set
	taken int                             // places that are not free
}

const removed = ^uint64(0)

// place returns where the search for id begins in a table of n places, n a power
// of two.
func place(id uint64, n int) int { return int(id*0x9E3779B97F4A7C15>>32) & (n - 1) }

// Has reports whether id is in the set.
func (s *Set) Has(id uint64) bool {
	p := s.table.Load()
	if p == nil {
		return false
	}
	table := *p
	for i := place(id, len(table)); ; i++ {
		switch table[i&(len(table)-1)].Load() {
		case id:
			return true
		case 0:
			return false
		}
	}
}

// Add puts id into the set. A table that is half full is replaced by a larger
// one.
func (s *Set) Add(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var table []atomic.Uint64
	if old := s.table.Load(); old != nil {
		table = *old
	}
	if 2*s.taken >= len(table) {
		table = s.rebuild(table)
	}
	put(table, id)
	s.taken++
}

func put(table []atomic.Uint64, id uint64) {
	i := place(id, len(table))
	for table[i&(len(table)-1)].Load() != 0 {
		i++
	}
	table[i&(len(table)-1)].Store(id)
}

// rebuild makes a table with four times as many places as there are numbers.
func (s *Set) rebuild(old []atomic.Uint64) []atomic.Uint64 {
	var ids []uint64
	for i := range old {
		if id := old[i].Load(); id != 0 && id != removed {
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
	s.taken = len(ids)
	s.table.Store(&table)
	return table
}

// Remove takes id out of the set, if it is there.
func (s *Set) Remove(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.table.Load()
	if p == nil {
		return
	}
	table := *p
	for i := place(id, len(table)); ; i++ {
		switch at := &table[i&(len(table)-1)]; at.Load() {
		case id:
			at.Store(removed)
			return
		case 0:
			return
		}
	}
}

// Clear empties the set.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rebuild(nil)
}

// Places returns how many places the table has.
func (s *Set) Places() int {
	if p := s.table.Load(); p != nil {
		return len(*p)
	}
	return 0
}

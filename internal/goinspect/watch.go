package goinspect

// A read of another program's memory may never end: a page of it may be one that nobody brings,
// as with userfaultfd(2), or one of a file on a file system that does not answer. The kernel
// neither says so before nor lets the thread go that has asked.
//
// The law: what reads is given up with its read, as it is. Its goroutine ends when that read does,
// without another step, and whatever it has used is left to it. What is to be known after all is
// read from the beginning, without the pages that do not come.

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A read that goes on at so many looks, with so much time between two, is given up. A machine that
// has no time for the one that reads has none for the one that looks.
const (
	lookEvery = 100 * time.Millisecond
	mostLooks = 20
)

// abandoned is in the place of the number of a read that was given up.
const abandoned = math.MaxUint64

// A vigil is what one looks at: which read goes on.
type vigil struct {
	now    atomic.Uint64 // the number of the read that goes on; 0 if none does
	begun  uint64        // how many reads were
	from   uint64        // what the read is of
	to     uint64
	single bool        // it is one read, and not many
	ended  atomic.Bool // a read that was given up has
}

// begin notes that a read begins.
func (v *vigil) begin(from, to uint64, single bool) {
	v.begun++
	v.from, v.to, v.single = from, to, single
	v.now.Store(v.begun)
}

// end notes that the read has ended. It reports false if that was given up meanwhile: then the
// goroutine may only end.
func (v *vigil) end() bool {
	if v.now.CompareAndSwap(v.begun, 0) {
		return true
	}
	v.ended.Store(true)
	return false
}

// A look is one at a vigil after the other.
type look struct {
	last uint64 // the read that went on the last time
	same int    // how many times it has
}

// over reports whether a read is given up now.
func (k *look) over(v *vigil) bool {
	n := v.now.Load()
	if n == 0 || n != k.last {
		k.last, k.same = n, 0
		return false
	}
	k.same++
	return k.same >= mostLooks && v.now.CompareAndSwap(n, abandoned)
}

// Watch calls f in a goroutine of its own, and returns when it has ended. f reads m. If a read of
// m does not end in time, f is given up, and Watch returns the memory with which to begin anew: m
// without what has not arrived. Otherwise it returns m.
func Watch(m Memory, f func()) Memory {
	l, ok := m.(interface {
		watched() (*vigil, func() Memory)
	})
	if !ok {
		f()
		return m
	}
	v, next := l.watched()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for k := new(look); ; {
		select {
		case <-done:
			return m
		case <-ticker.C:
			if k.over(v) {
				return next()
			}
		}
	}
}

// stalls are the stretches of a process's memory that have not arrived.
type stalls struct {
	mu  sync.Mutex
	all []stall
}

// A stall is such a stretch, and the vigil of the read of it that was given up.
type stall struct {
	region Region
	vigil  *vigil
}

func (s *stalls) add(r Region, v *vigil) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, stall{r, v})
}

// regions returns those that have still not arrived.
func (s *stalls) regions() (out []Region) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(one stall) bool { return one.vigil.ended.Load() })
	for _, one := range s.all {
		out = append(out, one.region)
	}
	return out
}

// within reports whether a stretch of memory touches one of some regions.
func within(regions []Region, from, to uint64) bool {
	return slices.ContainsFunc(regions, func(r Region) bool { return from < r.End && r.Start < to })
}

// notArrived says in a sentence what is missing.
func notArrived(regions []Region) string {
	var parts []string
	for _, r := range regions {
		parts = append(parts, fmt.Sprintf("%d kB at %#x", (r.End-r.Start)/1024, r.Start))
	}
	return "memory is missing: " + strings.Join(parts, ", ") + " did not arrive within " + (mostLooks * lookEvery).String() +
		" (userfaultfd, or a file on a file system that does not answer)"
}

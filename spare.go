package rondo

// This file dismisses workers that have been idle for long.

import "time"

// spare watches how many workers are idle for long, so that a burst of tasks
// does not leave its stacks behind for ever.
type spare struct {
	least int   // the fewest that were idle at once since then
	since int64 // the clock when that was begun anew
	over  int   // how many are to be dismissed
}

// Workers that were idle throughout spareFor are dismissed, one at a switch, but
// for spareMin of them.
const (
	spareFor = int64(10 * time.Second)
	spareMin = 256
)

// look begins anew if it is time for that.
func (s *spare) look(l *Loop) {
	if l.fault.any() {
		// One of them may carry a Goexit, which it would hand on to whoever runs
		// after it. The end of the loop is near, and sees to all.
		s.over = 0
		return
	}
	if l.now-s.since < spareFor {
		return
	}
	s.over = max(0, s.least-spareMin)
	s.least, s.since = len(l.idle), l.now
}

// dismiss ends the idle worker that was born in s, the slot where the next task
// is parked, on the way to that task: it gives the slot where that worker is
// parked. Swapping into it runs the worker, which returns, and the runtime then
// runs whoever is parked in the slot of its birth: the next task.
func (l *Loop) dismiss(s *slot) *slot {
	w := s.born
	n := len(l.idle) - 1
	l.idle[w.index] = l.idle[n]
	l.idle[w.index].index = w.index
	l.idle[n] = nil
	l.idle = l.idle[:n]
	l.spare.over--
	l.spare.least = min(l.spare.least, n)
	at := w.at
	w.at = nil
	return at
}

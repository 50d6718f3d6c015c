package main

// The history keeps the snapshots of a few minutes, so that top can show an earlier one in
// place of the newest. New ones are taken all the same.

import "time"

// Bounds on what is kept: for how long, and how many tasks and goroutines in all snapshots
// together, which take some 150 MB.
const (
	keptFor   = 5 * time.Minute
	keptTasks = 500_000
	jump      = 10 // snapshots that one key goes over
)

// A history is the last readings, the newest last.
type history struct {
	readings []*reading
	tasks    int // and goroutines, in all of them
	back     int // how many are newer than the one that is shown
}

// keep adds a reading and drops those that are too old, or too large together. The one
// that is shown stays shown, unless it is dropped.
func (h *history) keep(r *reading) {
	if h.back > 0 {
		h.back++
	}
	h.readings, h.tasks = append(h.readings, r), h.tasks+r.weight()
	for len(h.readings) > 1 && (h.tasks > keptTasks || r.picture.Taken.Sub(h.readings[0].picture.Taken) > keptFor) {
		h.tasks -= h.readings[0].weight()
		h.readings[0] = nil
		h.readings = h.readings[1:]
	}
	h.back = min(h.back, len(h.readings)-1)
}

// weight returns how many tasks and goroutines a reading has.
func (r *reading) weight() int { return r.size + len(r.picture.Goroutines) }

// shown returns the reading that is shown; nil if there is none.
func (h *history) shown() *reading {
	if len(h.readings) == 0 {
		return nil
	}
	return h.readings[len(h.readings)-1-h.back]
}

// ago is how much older it is than the newest.
func (h *history) ago() time.Duration {
	if len(h.readings) == 0 {
		return 0
	}
	return h.readings[len(h.readings)-1].picture.Taken.Sub(h.shown().picture.Taken)
}

// show shows what is to be shown now.
func (s *screen) show() {
	s.now = s.history.shown()
	s.sortRows()
	s.findOpen()
	s.listBeside()
}

// seek handles the keys that go to another snapshot. It reports whether the key is one
// of them.
func (s *screen) seek(key string) bool {
	steps := map[string]int{"left": 1, "h": 1, "right": -1, "l": -1, "[": jump, "]": -jump, "n": -len(s.history.readings)}
	by, ok := steps[key]
	if !ok || s.now == nil {
		return ok
	}
	s.history.back = max(0, min(s.history.back+by, len(s.history.readings)-1))
	if s.detail.task != nil {
		// Where it stood at another time is not where it stands.
		task := *s.detail.task
		task.Stack = nil
		s.detail.task = &task
	}
	s.show()
	return true
}

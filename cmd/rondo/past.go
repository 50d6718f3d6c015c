package main

// This file has the last minutes of a board: it can show an earlier picture in place of
// the newest. New ones are taken all the same.

import "time"

// Bounds on what is kept: for how long, and how many tasks in all pictures together,
// which take some 150 MB.
const (
	keptFor   = 5 * time.Minute
	keptTasks = 500_000
	leap      = 10 // pictures that one key goes over
)

// A past is the last readings, the newest last.
type past struct {
	readings []*reading
	tasks    int // in all of them
	back     int // how many are newer than the one that is shown
}

// keep adds a reading and drops those that are too old, or too large together. The one
// that is shown stays shown, unless it is dropped.
func (p *past) keep(r *reading) {
	if p.back > 0 {
		p.back++
	}
	p.readings, p.tasks = append(p.readings, r), p.tasks+len(r.tasks)
	for len(p.readings) > 1 && (p.tasks > keptTasks || r.picture.Taken.Sub(p.readings[0].picture.Taken) > keptFor) {
		p.tasks -= len(p.readings[0].tasks)
		p.readings[0] = nil
		p.readings = p.readings[1:]
	}
	p.back = min(p.back, len(p.readings)-1)
}

// shown returns the reading that is shown; nil if there is none.
func (p *past) shown() *reading {
	if len(p.readings) == 0 {
		return nil
	}
	return p.readings[len(p.readings)-1-p.back]
}

// ago is how much older it is than the newest.
func (p *past) ago() time.Duration {
	if len(p.readings) == 0 {
		return 0
	}
	return p.readings[len(p.readings)-1].picture.Taken.Sub(p.shown().picture.Taken)
}

// show shows what is to be shown now.
func (b *board) show() {
	b.now = b.past.shown()
	b.arrange()
	b.inspect()
}

// travel handles the keys that go to another picture. It reports whether the key is one
// of them.
func (b *board) travel(key string) bool {
	steps := map[string]int{"left": 1, "h": 1, "right": -1, "l": -1, "[": leap, "]": -leap, "n": -len(b.past.readings)}
	by, ok := steps[key]
	if !ok || b.now == nil {
		return ok
	}
	b.past.back = max(0, min(b.past.back+by, len(b.past.readings)-1))
	if b.detail.Task != nil {
		// Where it stood at another time is not where it stands.
		task := *b.detail.Task
		task.Stack = nil
		b.detail.Task = &task
	}
	b.show()
	return true
}

package sim

// This file has the trail that a run leaves: what was chosen, among how many,
// and when. Two runs that did the same left the same trail.

import (
	"fmt"
	"time"
)

// An event is one step of a run: a choice, or with n zero a jump of the clock.
type event struct {
	now int64
	who uint64 // the task that was chosen; 0 if it was a callback
	n   int32
}

func (e event) String() string {
	at := time.Duration(e.now - origin)
	if e.n == 0 {
		return fmt.Sprintf("the clock jumped to %v", at)
	}
	if e.who == 0 {
		return fmt.Sprintf("a callback ran as one of %d after %v", e.n, at)
	}
	return fmt.Sprintf("task-%d ran as one of %d after %v", e.who, e.n, at)
}

// keepMax is how many events a trail keeps. Later ones are only in its hash.
const keepMax = 1 << 20

// A trail sums up a run. One that is kept remembers the events; one that
// follows another finds the first event that differs.
type trail struct {
	hash    uint64
	count   int
	keep    bool
	events  []event
	follows *trail
	differs string
}

func (t *trail) add(e event) {
	t.hash = mix(mix(t.hash^uint64(e.now))^e.who) ^ uint64(e.n)
	if t.keep && t.count < keepMax {
		t.events = append(t.events, e)
	}
	if f := t.follows; f != nil && t.differs == "" && t.count < keepMax {
		if t.count >= len(f.events) {
			t.differs = fmt.Sprintf("at event %d in the first run the end had come, but in the second %v", t.count+1, e)
		} else if first := f.events[t.count]; first != e {
			t.differs = fmt.Sprintf("at event %d in the first run %v, but in the second %v", t.count+1, first, e)
		}
	}
	t.count++
}

// difference says where t parts from the trail that it follows, or nothing.
func (t *trail) difference() string {
	f := t.follows
	switch {
	case t.differs != "":
		return t.differs
	case t.count < min(f.count, keepMax):
		return fmt.Sprintf("at event %d in the first run %v, but in the second the end had come", t.count+1, f.events[t.count])
	case t.hash != f.hash:
		return fmt.Sprintf("the runs part somewhere after event %d", keepMax)
	}
	return ""
}

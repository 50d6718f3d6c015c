package rondo

// The search for tasks of a loop that wait for each other, for its report of a deadlock.
// Package inspect applies the same rules to another program, whose records it reads.
//
// The law: a ring is reported only if it is certain that nothing can end its waits but a
// cancellation, its own tasks, and other tasks that are stuck.

import "github.com/rondo-go/rondo/internal/waits"

// A tangle is the waiting tasks of a loop, and those that can wake them as far as that is known.
type tangle struct {
	tasks []*Task
	at    map[*Task]int // their places
	needs map[int][]int // the places of those that can wake each
	free  []int         // the places of those that something else may wake

	locks map[*string]*Task // the holder of the lock with this name; nil if several locks have it
	held  map[*Task]bool    // the tasks that the limit of their scope holds back
	begun map[*Scope][]*Task
	all   map[*Scope][]*Task
}

// mostArrows bounds how many waits of a task for another are looked at.
const mostArrows = 1 << 20

// tangles returns the tasks that wait for each other in rings.
func (l *Loop) tangles() (rings [][]*Task) {
	w := tangle{
		at: make(map[*Task]int), needs: make(map[int][]int), locks: make(map[*string]*Task),
		held: make(map[*Task]bool), begun: make(map[*Scope][]*Task), all: make(map[*Scope][]*Task),
	}
	for t := range l.tasks() {
		w.note(t)
	}
	arrows := 0
	for n, t := range w.tasks {
		wakers := w.wakers(t)
		if arrows += len(wakers); arrows > mostArrows {
			return nil
		}
		for _, other := range wakers {
			if j, ok := w.at[other]; ok {
				w.needs[n] = append(w.needs[n], j)
			} else {
				w.free = append(w.free, n)
			}
		}
		if len(w.needs[n]) == 0 {
			w.free = append(w.free, n)
		}
	}
	for _, cycle := range waits.Tangles(w.needs, w.free) {
		ring := make([]*Task, len(cycle))
		for i, n := range cycle {
			ring[i] = w.tasks[n]
		}
		rings = append(rings, ring)
	}
	return rings
}

// note notes of t what is needed to tell who wakes whom.
func (w *tangle) note(t *Task) {
	s := t.owner
	if _, known := w.all[s]; !known && s.extra != nil {
		for _, h := range s.extra.held {
			w.held[h] = true
		}
	}
	w.all[s] = append(w.all[s], t)
	switch {
	case w.held[t]:
	case t.state == stateWaiting && t.worker.timerIndex == 0:
		w.begun[s] = append(w.begun[s], t)
		w.noteLock(t.worker.list)
	default:
		w.begun[s] = append(w.begun[s], t)
		return
	}
	w.at[t] = len(w.tasks)
	w.tasks = append(w.tasks, t)
}

// noteLock records the holder of the lock that list belongs to, if the list knows it. In the
// line of an RWMutex only the first list does.
func (w *tangle) noteLock(list *WaitList) {
	if list == nil || list.Owner == nil {
		return
	}
	if name, ok := list.Of.(*string); ok {
		if known, twice := w.locks[name]; twice && known != list.Owner {
			w.locks[name] = nil // it is the name of several things
			return
		}
		w.locks[name] = list.Owner
	}
}

// wakers returns the tasks that can end the wait of t, apart from a cancellation: all of them, or
// nil among them if others may.
func (w *tangle) wakers(t *Task) []*Task {
	if w.held[t] {
		return w.begun[t.owner]
	}
	what, list, scope := t.worker.reason.What, t.worker.list, t.worker.inner
	switch {
	case list == nil && what == "group" && scope != nil && len(w.all[scope]) == int(scope.tasks):
		return w.all[scope]
	case t.worker.selects():
		return t.worker.selection.wakers()
	case list == nil:
		return nil
	case list.Owner != nil:
		return []*Task{list.Owner}
	}
	if name, ok := list.Of.(*string); ok && (what == "lock" || what == "rlock") {
		return []*Task{w.locks[name]}
	}
	return nil
}

// wakers returns for each case of a Select the task that can choose it, or nil.
func (s *selection) wakers() (out []*Task) {
	for i := range s.places {
		if p := &s.places[i]; p.list != nil {
			out = append(out, p.list.Owner)
		} else {
			out = append(out, nil)
		}
	}
	return out
}

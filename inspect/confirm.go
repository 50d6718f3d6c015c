package inspect

// Step 4 of reading a loop: tasks and their workers are read once more, and what may be of
// two moments is dropped. A cycle is believed only if no task has moved, since it was read, that
// is in it or could wake one of it: then there was a moment in which all of them waited.

import (
	"slices"

	"github.com/rondo-go/rondo/internal/layout"
)

// ownersOf returns for each task the number of the one that owns the list in which it
// waits: what holds a lock, or is joined. The number is read with the list, because
// another task may have taken the owner's place in memory by then.
func (r *reader) ownersOf(tasks []*seen) []uint64 {
	addrs := r.column(len(tasks))
	for i, s := range tasks {
		if s.list.b != nil {
			addrs[i] = s.list.uint64(layout.ListOwner)
		}
	}
	return r.numbers(addrs)
}

// numbers returns the numbers of the tasks at some addresses; 0 where none lives. A
// walk to the end has come to each of them, unless it was started later.
func (r *reader) numbers(addrs []uint64) []uint64 {
	out := r.column(len(addrs))
	r.each(addrs, r.size(layout.TaskSize), func(i int, t record) {
		id, walked := t.uint64(layout.TaskID), r.ring.at(addrs[i])
		if r.mine(t) && (id == walked || walked == 0 && r.ring.cut) {
			out[i] = id
		}
	})
	return out
}

// confirm is step 4. It drops the tasks that are gone, and reports whether any task
// ran meanwhile.
func (r *reader) confirm() (moved bool) {
	// Before the rest: a name is of the same moment as the wait of a task that has
	// not moved after it was read.
	r.confirmNames(r.tasks)
	kept := r.tasks[:0]
	for i, state := range r.compare(r.tasks) {
		s := r.tasks[i]
		if state == gone {
			continue
		}
		kept = append(kept, s)
		if state == changed {
			moved = true
			s.info.forget()
		}
	}
	clear(r.tasks[len(kept):])
	r.tasks = kept
	return moved
}

// What has become of a task since it was read.
type since uint8

const (
	same since = iota
	changed
	gone
)

// compare reads tasks and their workers once more, and says what has become of each.
func (r *reader) compare(tasks []*seen) []since {
	addrs, workers := r.column(len(tasks)), r.column(len(tasks))
	out := make([]since, len(tasks))
	for i, s := range tasks {
		addrs[i], workers[i], out[i] = s.addr, s.task.uint64(layout.TaskWorker), gone
	}
	r.each(addrs, r.size(layout.TaskSize), func(i int, t record) {
		s := tasks[i]
		switch {
		case !r.mine(t) || t.uint64(layout.TaskID) != s.task.uint64(layout.TaskID):
		case t.uint64(layout.TaskWorker) != workers[i] || t.byte(layout.TaskState) != s.task.byte(layout.TaskState) ||
			s.worker.b == nil && workers[i] != 0:
			out[i] = changed
		default:
			out[i] = same
		}
	})
	// After the tasks, so that the count of switches is of after all that was read.
	unmoved := make([]bool, len(tasks))
	r.each(workers, r.size(layout.WorkerSize), func(i int, w record) {
		s := tasks[i]
		unmoved[i] = s.worker.b != nil && w.uint64(layout.WorkerJob) == s.addr && sameWait(w, s.worker)
	})
	for i, owned := range r.owned(tasks) {
		if out[i] == same && (tasks[i].worker.b != nil && !unmoved[i] || !owned) {
			out[i] = changed
		}
	}
	r.outlived(tasks, out)
	return out
}

// outlived finds those gone whose number is another by now. The copy of a record that is no longer
// a task's may be of two moments, the number of the task that was there and the rest of the next
// one; a count of switches that is the same proves that it is not.
func (r *reader) outlived(tasks []*seen, out []since) {
	addrs, ids := r.column(len(tasks)), r.column(len(tasks))
	for i, s := range tasks {
		if out[i] == changed || out[i] == same && s.worker.b == nil {
			addrs[i] = s.addr + uint64(r.size(layout.TaskID))
		}
	}
	r.each(addrs, 8, func(i int, id record) { ids[i] = id.word() })
	for i, s := range tasks {
		if addrs[i] != 0 && ids[i] != s.task.uint64(layout.TaskID) {
			out[i] = gone
		}
	}
}

// owned reports for each task whether the list in which it waits has the same owner
// as before: a lock may pass to another while a task goes on waiting for it.
func (r *reader) owned(tasks []*seen) []bool {
	lists := r.column(len(tasks))
	for i, s := range tasks {
		if s.list.b != nil {
			lists[i] = s.worker.uint64(layout.WorkerList)
		}
	}
	out := make([]bool, len(tasks))
	owners := r.column(len(tasks))
	r.each(lists, r.size(layout.ListSize), func(i int, list record) {
		owners[i] = list.uint64(layout.ListOwner)
		out[i] = owners[i] == tasks[i].list.uint64(layout.ListOwner)
	})
	for i, id := range r.numbers(owners) {
		s := tasks[i]
		out[i] = s.list.b == nil || out[i] && id == s.owner
	}
	for i, h := range r.holds(tasks, func(i int) string { return tasks[i].info.What }) {
		out[i] = out[i] && h == tasks[i].hold
	}
	return out
}

// sameWait reports whether a worker has not switched between two readings, and waits
// for the same.
func sameWait(a, b record) bool {
	for _, word := range [...]int{layout.WorkerSwitches, layout.WorkerList, layout.WorkerOn, layout.WorkerSince, layout.WorkerInner} {
		if a.uint64(word) != b.uint64(word) {
			return false
		}
	}
	at, n := a.pair(layout.WorkerWhat)
	other, m := b.pair(layout.WorkerWhat)
	return at == other && n == m
}

// forget takes back what is true of a task only while it does not run.
func (t *Task) forget() {
	t.Moved = true
	t.Waiting, t.What, t.On, t.Thing, t.FD, t.Due, t.Since = "", "", 0, 0, 0, 0, 0
	t.Any, t.Elsewhere, t.Readers, t.Abandoned, t.Offload, t.outer = nil, nil, 0, false, nil, false
	t.Stack, t.Cut, t.Partial, t.Goroutine, t.Thread, t.Scopes = nil, false, false, 0, 0, nil
}

// rings returns the cycles of tasks that go through more than one loop. readers has that of each
// loop of the snapshot.
func (p *Program) rings(readers []*reader) (out [][]*member) {
	far := slices.ContainsFunc(p.Loops, func(l *Loop) bool {
		return slices.ContainsFunc(l.Tasks, func(t *Task) bool { return t.Elsewhere != nil })
	})
	if !far {
		return nil
	}
	for _, ring := range lasting(p.Loops, readers) {
		if slices.ContainsFunc(ring, func(n *member) bool { return n.loop != ring[0].loop }) {
			out = append(out, ring)
		}
	}
	return out
}

// cycles returns the cycles of tasks of the loop.
func (r *reader) cycles(l *Loop) (out [][]uint64) {
	for _, cycle := range lasting([]*Loop{l}, []*reader{r}) {
		ids := make([]uint64, len(cycle))
		for i, n := range cycle {
			ids[i] = n.task.ID
		}
		out = append(out, ids)
	}
	return out
}

// lasting returns the cycles of some loops all of whose grounds wait as they did when they were
// read: a task that was read before another may have gone on by the time of that one. readers has
// that of each loop.
func lasting(loops []*Loop, readers []*reader) [][]*member {
	cycles, grounds := tangles(loops, nil)
	moved := make(map[*Task]bool)
	for i, r := range readers {
		var tasks []*Task
		for _, m := range grounds {
			if m.loop == i {
				tasks = append(tasks, m.task)
			}
		}
		r.noteMoved(tasks, moved)
	}
	if len(moved) > 0 {
		cycles, _ = tangles(loops, moved)
	}
	return cycles
}

// noteMoved notes those of the tasks that do not wait as they did when they were read. The count of
// switches says that it is still the same wait; only what holds a lock may have changed meanwhile.
func (r *reader) noteMoved(tasks []*Task, moved map[*Task]bool) {
	for part := range slices.Chunk(tasks, r.portion) {
		addrs, workers := make([]uint64, len(part)), make([]uint64, len(part))
		at := make(map[uint64]*Task, len(part))
		for i, t := range part {
			addrs[i], moved[t] = r.ring.of(t.ID), true
			at[addrs[i]] = t
		}
		for i, t := range r.many(addrs, r.size(layout.TaskSize)) {
			if t.b != nil {
				workers[i] = t.uint64(layout.TaskWorker)
			}
		}
		one := *r
		one.tasks, one.kept, one.columns = nil, nil, columnRoom{}
		one.readTasks(addrs, workers)
		one.readHolds(one.tasks, func(i int) string { return at[one.tasks[i].addr].What })
		for _, s := range one.tasks {
			if t := at[s.addr]; one.waitsStill(s, t) {
				delete(moved, t)
			}
		}
	}
}

// waitsStill reports whether s, which was read anew, waits as t says.
func (r *reader) waitsStill(s *seen, t *Task) bool {
	if s.task.uint64(layout.TaskID) != t.ID {
		return false
	}
	if t.heldBack() {
		return s.task.byte(layout.TaskState) == stateNew
	}
	if s.worker.b == nil || s.task.byte(layout.TaskState) != stateWaiting || s.worker.uint64(layout.WorkerSwitches) != t.Switches {
		return false
	}
	id, _ := r.awaited(&seen{info: t, worker: s.worker, list: s.list, owner: s.owner, hold: s.hold}, "").task()
	return id == t.On || t.What == selecting
}

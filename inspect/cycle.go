package inspect

// This file finds tasks that wait for each other. What is said of each of them is
// right, but may be of different moments, so a cycle is believed only after a
// second look at all of its tasks: if none has moved since it was read, there was a
// moment in which all of them waited.

import (
	"maps"
	"slices"

	"github.com/rondo-go/rondo/internal/layout"
)

// lasting returns those of the cycles whose tasks all wait as they did when they
// were read.
func (r *reader) lasting(l *Loop, cycles [][]uint64) [][]uint64 {
	if len(cycles) == 0 {
		return nil
	}
	byID := make(map[uint64]*Task, len(l.Tasks))
	for _, t := range l.Tasks {
		byID[t.ID] = t
	}
	var out [][]uint64
	for _, cycle := range cycles {
		tasks := make([]*Task, len(cycle))
		for i, id := range cycle {
			tasks[i] = byID[id]
		}
		if r.wait(tasks) {
			out = append(out, cycle)
		}
	}
	return out
}

// wait reports whether all of the tasks wait as they did when they were read. The
// count of switches says that it is still the same wait; only what holds a lock may
// have changed meanwhile.
func (r *reader) wait(tasks []*Task) bool {
	addrs, workers := make([]uint64, len(tasks)), make([]uint64, len(tasks))
	for i, t := range tasks {
		if t.Moved {
			return false
		}
		addrs[i] = r.ring.of(t.ID)
	}
	for i, t := range r.many(addrs, r.size(layout.TaskSize)) {
		if t.b != nil {
			workers[i] = t.uint64(layout.TaskWorker)
		}
	}
	one := *r
	one.tasks, one.kept, one.columns = nil, nil, columnRoom{}
	one.readTasks(addrs, workers)
	if len(one.tasks) != len(tasks) {
		return false
	}
	for i, s := range one.tasks {
		t := tasks[i]
		if s.moved || s.worker.b == nil || s.task.uint64(layout.TaskID) != t.ID || s.task.byte(layout.TaskState) != stateWaiting ||
			s.worker.uint64(layout.WorkerSwitches) != t.Switches {
			return false
		}
		if id, _ := one.awaited(&seen{info: t, worker: s.worker, list: s.list, owner: s.owner}, "").task(); id != t.On && t.What != selecting {
			return false
		}
	}
	return true
}

// cycles returns the tasks that wait for each other: one cycle for each strongly
// connected part of the graph whose edges go from a task to the tasks that it waits
// for.
func cycles(l *Loop) (out [][]uint64) {
	for _, cycle := range circles(needs(l)) {
		ids := make([]uint64, len(cycle))
		for i, n := range cycle {
			ids[i] = l.Tasks[n].ID
		}
		out = append(out, ids)
	}
	return out
}

// needs returns for each task of the loop the tasks that it waits for: the one that can
// end its wait, or all of the group that it wants to leave. One that needs none is in no
// cycle.
func needs(l *Loop) map[int][]int {
	find := l.byID()
	needs := make(map[int][]int)
	needy := func(t *Task) bool { return t.On != 0 || t.What == "group" || t.Elsewhere != nil }
	for i, t := range l.Tasks {
		if !needy(t) {
			continue
		}
		if j, ok := find(t.On); ok && needy(l.Tasks[j]) {
			needs[i] = append(needs[i], j)
		}
		if o := t.Owner; o != nil {
			if j, ok := find(o.Host); ok && l.Tasks[j].What == "group" && len(l.Tasks[j].Scopes) == o.Depth {
				needs[j] = append(needs[j], i)
			}
		}
	}
	return needs
}

// circles returns one cycle for each strongly connected part of a graph whose edges go
// from a node to those that it needs.
func circles(needs map[int][]int) [][]int {
	const (
		fresh = iota
		open
		closed
	)
	state := make(map[int]int, len(needs))
	at := make(map[int]int, len(needs)) // the next arrow of each node on the way
	var out [][]int
	for _, start := range slices.Sorted(maps.Keys(needs)) {
		if state[start] != fresh {
			continue
		}
		way := []int{start}
		state[start] = open
		for len(way) > 0 {
			i := way[len(way)-1]
			if at[i] == len(needs[i]) {
				state[i] = closed
				way = way[:len(way)-1]
				continue
			}
			j := needs[i][at[i]]
			at[i]++
			switch state[j] {
			case fresh:
				state[j] = open
				way = append(way, j)
			case open:
				var cycle []int
				for k := len(way) - 1; k >= 0; k-- {
					cycle = append(cycle, way[k])
					if way[k] == j {
						break
					}
				}
				slices.Reverse(cycle)
				out = append(out, cycle)
			}
		}
	}
	return out
}

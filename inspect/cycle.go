package inspect

// This file finds tasks that wait for each other. What is said of each of them is
// right, but may be of different moments, so a cycle is believed only after a
// second look at all of its tasks: if none has moved since it was read, there was a
// moment in which all of them waited.

import "github.com/rondo-go/rondo/internal/layout"

// lasting returns those of the cycles whose tasks all wait as they did when they
// were read.
func (r *reader) lasting(cycles [][]uint64) [][]uint64 {
	if len(cycles) == 0 {
		return nil
	}
	byID := make(map[uint64]*seen, len(r.tasks))
	for _, s := range r.tasks {
		byID[s.info.ID] = s
	}
	var out [][]uint64
	for _, cycle := range cycles {
		tasks := make([]*seen, len(cycle))
		for i, id := range cycle {
			tasks[i] = byID[id]
		}
		if r.wait(tasks) {
			out = append(out, cycle)
		}
	}
	return out
}

// wait reports whether all of the tasks wait as they did when they were read.
func (r *reader) wait(tasks []*seen) bool {
	addrs, workers := make([]uint64, len(tasks)), make([]uint64, len(tasks))
	for i, s := range tasks {
		addrs[i], workers[i] = s.addr, s.task.uint64(layout.TaskWorker)
	}
	again, owned := r.many(addrs, r.size(layout.TaskSize)), r.owned(tasks)
	for i, w := range r.many(workers, r.size(layout.WorkerSize)) {
		s, t := tasks[i], again[i]
		if s.info.Moved || t.b == nil || !r.mine(t) || t.uint64(layout.TaskID) != s.info.ID || t.byte(layout.TaskState) != stateWaiting ||
			w.b == nil || w.uint64(layout.WorkerJob) != s.addr || s.worker.b == nil || !sameWait(w, s.worker) || !owned[i] {
			return false
		}
	}
	return true
}

// cycles returns the tasks that wait for each other: one cycle for each strongly
// connected part of the graph whose edges go from a task to the tasks that it waits
// for.
func cycles(l *Loop) [][]uint64 {
	index := make(map[uint64]int, len(l.Tasks))
	for i, t := range l.Tasks {
		index[t.ID] = i
	}
	// needs[i] are the tasks that i waits for: the one that can end its wait, or
	// all of the group that it wants to leave.
	needs := make([][]int, len(l.Tasks))
	for i, t := range l.Tasks {
		if j, ok := index[t.On]; ok && t.On != 0 {
			needs[i] = append(needs[i], j)
		}
		if o := t.Owner; o != nil {
			if j, ok := index[o.Host]; ok && l.Tasks[j].What == "group" && len(l.Tasks[j].Scopes) == o.Depth {
				needs[j] = append(needs[j], i)
			}
		}
	}
	const (
		fresh = iota
		open
		closed
	)
	state := make([]int, len(needs))
	at := make([]int, len(needs)) // the next arrow of each task on the way
	var out [][]uint64
	for start := range needs {
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
				var cycle []uint64
				for k := len(way) - 1; k >= 0; k-- {
					cycle = append(cycle, l.Tasks[way[k]].ID)
					if way[k] == j {
						break
					}
				}
				for a, b := 0, len(cycle)-1; a < b; a, b = a+1, b-1 {
					cycle[a], cycle[b] = cycle[b], cycle[a]
				}
				out = append(out, cycle)
			}
		}
	}
	return out
}

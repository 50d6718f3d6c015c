package inspect

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

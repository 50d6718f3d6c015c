package waits

// Tasks that can be woken by some others only, and those that are stuck for good among them. A
// loop that is in deadlock and package inspect both conclude from here.

import (
	"maps"
	"slices"
)

// Tangles returns the nodes of a graph that wait for each other: at least one cycle for each
// strongly connected part that has any, in the order of its edges. needs has for a node all those
// that can wake it; free are the nodes that something else may wake. A node is stuck if all that
// can wake it are: if one of them can go on, it may. Those that are not stuck are in no cycle.
func Tangles(needs map[int][]int, free []int) [][]int {
	wakes := make(map[int][]int) // the nodes that each can wake
	for n, of := range needs {
		for _, j := range of {
			wakes[j] = append(wakes[j], n)
		}
	}
	stuck := maps.Clone(needs)
	loose := make(map[int]bool)
	for todo := slices.Clone(free); len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !loose[n] {
			loose[n] = true
			delete(stuck, n)
			todo = append(todo, wakes[n]...)
		}
	}
	return circles(stuck)
}

// circles returns at least one cycle for each strongly connected part that has any, of a graph
// whose edges go from a node to those that it needs.
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

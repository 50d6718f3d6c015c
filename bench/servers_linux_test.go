package main

import "testing"

// TestBudgetsAreForAPartAndARival: a budget of one part of Rondo beside one rival
// holds for no other pair, and parts of Rondo are not compared with each other.
func TestBudgetsAreForAPartAndARival(t *testing.T) {
	one := func(label string, ours bool, cost float64) *pair {
		return &pair{label: label, ours: ours, costs: map[string][]float64{"cpu": {cost}}}
	}
	pairs := []*pair{one(partTasks, true, 3), one(partSession, true, 2), one(perGoroutine, false, 4), one(epollLoop, false, 2)}
	found := compared(result{What: "it"}, "cpu", pairs, budgets{partSession: {epollLoop: 1.1}, partTasks: {perGoroutine: 0.9}})
	want := []struct {
		mine, rival   string
		ratio, budget float64
	}{
		{partTasks, perGoroutine, 0.75, 0.9}, {partTasks, epollLoop, 1.5, 0},
		{partSession, perGoroutine, 0.5, 0}, {partSession, epollLoop, 1, 1.1},
	}
	if len(found) != len(want) {
		t.Fatalf("%d results, want %d", len(found), len(want))
	}
	for i, w := range want {
		if f := found[i]; f.Mine != w.mine || f.Rival != w.rival || f.ratio() != w.ratio || f.Budget != w.budget {
			t.Errorf("got %+v, want %+v", f, w)
		}
	}
}

// TestServersOfRowsExist: a name that no server has would leave it out of the row.
func TestServersOfRowsExist(t *testing.T) {
	if got := chosen(idleServers); len(got) != len(idleServers) {
		t.Errorf("%d servers for %q", len(got), idleServers)
	}
	if got := chosen(computingServers); len(got) != len(computingServers) {
		t.Errorf("%d servers for %q", len(got), computingServers)
	}
	if got := chosen(nil); len(got) != len(serverList) {
		t.Errorf("%d servers, want all %d", len(got), len(serverList))
	}
}

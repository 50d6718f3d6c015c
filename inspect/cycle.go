package inspect

// Tasks that wait for each other are cycles in a graph, within one loop or through several. The
// law: a cycle is named only if nothing that is not in it can wake one of its tasks, except by a
// cancellation; where that is not certain there is none. confirm.go tells which of them lasted. A
// loop says the same of its own tasks by the same rules, when it is in deadlock (tangle.go).

import "github.com/rondo-go/rondo/internal/waits"

// A member is a task and the number of its loop in the snapshot.
type member struct {
	loop int
	task *Task
}

// A web is the tasks of some loops that only other tasks can wake, as far as is known, each with
// those that can. A task is stuck if all of these are in the web and are stuck: if one of them
// can go on, it may.
type web struct {
	loops []*Loop
	nodes []*member
	at    []map[uint64]int // the node of a task, for each loop
	needs map[int][]int    // the nodes of those that can wake a task
	free  []int            // nodes that something else may wake
}

// tangles returns the tasks of some loops that wait for each other in cycles, but for those that
// have moved, and all the tasks that must be stuck for that: each that could end one of the waits.
func tangles(loops []*Loop, moved map[*Task]bool) (out [][]*member, grounds []*member) {
	w := &web{loops: loops, needs: make(map[int][]int)}
	for i, l := range loops {
		at := make(map[uint64]int)
		w.at = append(w.at, at)
		for _, t := range l.Tasks {
			if t.needy() && !moved[t] {
				at[t.ID] = len(w.nodes)
				w.nodes = append(w.nodes, &member{i, t})
			}
		}
	}
	if len(w.nodes) == 0 {
		return nil, nil
	}
	w.link()
	var todo []int
	for _, cycle := range waits.Tangles(w.needs, w.free) {
		ring := make([]*member, len(cycle))
		for i, n := range cycle {
			ring[i] = w.nodes[n]
		}
		out, todo = append(out, ring), append(todo, cycle...)
	}
	for seen := make(map[int]bool); len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[n] {
			seen[n] = true
			grounds, todo = append(grounds, w.nodes[n]), append(todo, w.needs[n]...)
		}
	}
	return out, grounds
}

// needy reports whether only tasks that are known can end the wait of t, apart from its
// cancellation.
func (t *Task) needy() bool {
	return !t.Moved && t.Due == 0 && (t.On != 0 || t.joins() || t.heldBack() || t.Elsewhere != nil || len(t.Any) > 0)
}

// joins reports whether t waits until all tasks of the scope that it opened last have ended, and
// heldBack whether the limit of its scope holds it back. A program may wait in a list of its own
// with the same words.
func (t *Task) joins() bool    { return t.What == "group" && t.Thing == 0 }
func (t *Task) heldBack() bool { return t.What == limited && t.State == "new" }

// link finds out who can wake each task of the web.
func (w *web) link() {
	byName := make(map[string]int)
	for i, l := range w.loops {
		if _, twice := byName[l.Name]; twice {
			byName[l.Name] = unclear
		} else {
			byName[l.Name] = i
		}
	}
	for n, m := range w.nodes {
		t := m.task
		switch {
		case t.Elsewhere != nil:
			if there, known := byName[t.Elsewhere.Loop]; known && there != unclear {
				w.need(n, there, t.Elsewhere.ID)
			} else {
				w.free = append(w.free, n)
			}
		case len(t.Any) > 0:
			for _, id := range t.Any {
				w.need(n, m.loop, id)
			}
		case t.On != 0:
			w.need(n, m.loop, t.On)
		}
	}
	for i, l := range w.loops {
		w.linkScopes(i, l)
	}
}

// need notes that the task with a number, of a loop, can wake the one at node n.
func (w *web) need(n, loop int, id uint64) {
	if j, ok := w.at[loop][id]; ok {
		w.needs[n] = append(w.needs[n], j)
	} else {
		w.free = append(w.free, n)
	}
}

// A crowd is what is known of the tasks of a scope.
type crowd struct {
	begun, held []int // nodes
	others      int   // tasks that are not in the web
	tasks       int   // how many the scope itself says that it has
}

// whole reports whether all tasks of the scope are in the web.
func (c *crowd) whole() bool { return c.others == 0 && len(c.begun)+len(c.held) == c.tasks }

// linkScopes finds out who can wake the tasks of a loop that wait until all tasks of a scope have
// ended, and those that may not begin before another one of the scope has ended. Any task of the
// scope that goes on may do so: it may fail, or win a Race, and so cancel the scope.
func (w *web) linkScopes(loop int, l *Loop) {
	scopes := make(map[ScopeID]*crowd)
	for _, m := range w.nodes {
		if t := m.task; m.loop == loop && t.joins() && len(t.Scopes) > 0 {
			scopes[ScopeID{t.ID, len(t.Scopes)}] = new(crowd)
		} else if m.loop == loop && t.heldBack() && t.Owner != nil && scopes[*t.Owner] == nil {
			scopes[*t.Owner] = new(crowd)
		}
	}
	for of, c := range scopes {
		c.others = l.apart[of]
	}
	for _, t := range l.Tasks {
		for i, s := range t.Scopes {
			if c := scopes[ScopeID{t.ID, i + 1}]; c != nil {
				c.tasks = s.Tasks
			}
		}
		if t.Owner == nil || scopes[*t.Owner] == nil {
			continue
		}
		c := scopes[*t.Owner]
		switch n, ok := w.at[loop][t.ID]; {
		case !ok:
			c.others++
		case t.heldBack():
			c.held = append(c.held, n)
		default:
			c.begun = append(c.begun, n)
		}
	}
	for n, m := range w.nodes {
		t := m.task
		switch {
		case m.loop != loop:
		case t.joins() && len(t.Scopes) > 0:
			c := scopes[ScopeID{t.ID, len(t.Scopes)}]
			w.needs[n] = append(append(w.needs[n], c.begun...), c.held...)
			if !c.whole() || c.tasks == 0 {
				w.free = append(w.free, n)
			}
		case t.joins():
			w.free = append(w.free, n)
		case t.heldBack():
			if t.Owner == nil {
				w.free = append(w.free, n)
			} else if c := scopes[*t.Owner]; !c.whole() || len(c.begun) == 0 {
				w.free = append(w.free, n)
			} else {
				w.needs[n] = append(w.needs[n], c.begun...)
			}
		}
	}
}

// unclear stands for the loop of a name that several loops have.
const unclear = -1

// ids returns the names of the tasks in rings.
func (p *Program) ids(rings [][]*member) [][]TaskID {
	var out [][]TaskID
	for _, ring := range rings {
		var ids []TaskID
		for _, n := range ring {
			ids = append(ids, TaskID{p.Loops[n.loop].Name, n.task.ID})
		}
		out = append(out, ids)
	}
	return out
}

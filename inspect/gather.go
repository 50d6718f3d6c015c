package inspect

// Of a loop with very many tasks, a screen needs little of each: a name, what it waits for, and
// some figures, by which a million are sorted. They take a third of the memory of Tasks.
//
// The law: what is concluded of a loop is the same if its tasks are read in short.

import "slices"

// A gathering is the tasks of a loop that were read. If they are many, only their briefs are kept,
// and those tasks from which something else is concluded.
type gathering struct {
	brief  bool
	tasks  []*Task
	briefs []Brief
	apart  map[ScopeID]int // of a scope, how many tasks are in briefs only
}

// gather begins a gathering of the tasks that the walk has found.
func (r *reader) gather() *gathering {
	n := len(r.ring.addrs)
	g := &gathering{brief: r.briefly()}
	if !g.brief {
		g.tasks = make([]*Task, 0, n)
		return g
	}
	g.tasks, g.briefs, g.apart = []*Task{}, make([]Brief, 0, n), make(map[ScopeID]int)
	return g
}

// briefly reports whether briefs of the tasks are asked for.
func (r *reader) briefly() bool {
	return r.options.BriefFrom > 0 && len(r.ring.addrs) >= r.options.BriefFrom
}

// add adds the tasks of a portion, whose memory is used again if they are briefs.
func (g *gathering) add(r *reader) {
	for _, s := range r.tasks {
		t := s.info
		if g.brief {
			g.briefs = append(g.briefs, t.Brief())
			r.budget.keepBrief(t)
			if !r.matters(t) {
				if t.Owner != nil {
					g.apart[*t.Owner]++
				}
				continue
			}
			one := *t
			t = &one
		}
		g.tasks = append(g.tasks, t)
		r.budget.keep(t)
	}
}

// len returns how many tasks there are.
func (g *gathering) len() int { return max(len(g.tasks), len(g.briefs)) }

// matters reports whether something is concluded from a task besides what its Brief says: it holds
// the loop, others may end its wait, or it owns tasks. It does too if its stack was asked for.
func (r *reader) matters(t *Task) bool {
	if t.State == states[stateRunning] || t.needy() || len(t.Stack) > 0 || slices.Contains(r.options.StacksOf, t.ID) {
		return true
	}
	for _, s := range t.Scopes {
		if s.Tasks > 0 {
			return true
		}
	}
	return false
}

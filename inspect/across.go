package inspect

// This file finds tasks of several loops that wait for each other. A task that waits
// for another loop names the task there that it needs. As within a loop, a ring is
// believed only after a second look at all of its tasks.

import (
	"io"
	"slices"
	"strconv"
	"strings"
)

// A TaskID names a task among those of all loops.
type TaskID struct {
	Loop string `json:"loop"`
	ID   uint64 `json:"id"`
}

// ofLoop are the words for waits for another loop.
var ofLoop = []string{"call", "another loop"}

// taskElsewhere returns the task of another loop that is needed by a wait of a kind, for
// what is called label; nil if none is known.
func taskElsewhere(what, label string) *TaskID {
	if !slices.Contains(ofLoop, what) {
		return nil
	}
	i := strings.LastIndex(label, " #")
	if i < 0 {
		return nil
	}
	id, err := strconv.ParseUint(label[i+2:], 10, 64)
	if err != nil {
		return nil
	}
	return &TaskID{label[:i], id}
}

// rings returns the cycles of tasks that go through more than one loop. readers has
// that of each loop of the picture.
func (p *Picture) rings(readers []*reader) [][]*member {
	var out [][]*member
	for _, ring := range p.across() {
		lasts := true
		for i, r := range readers {
			var tasks []*Task
			for _, t := range ring {
				if t.loop == i {
					tasks = append(tasks, t.task)
				}
			}
			lasts = lasts && (len(tasks) == 0 || r.wait(tasks))
		}
		if lasts {
			out = append(out, ring)
		}
	}
	return out
}

// A member is a task and the number of its loop in the picture.
type member struct {
	loop int
	task *Task
}

// across returns the cycles of the graph whose edges go from a task to those that it
// waits for, of any loop, but not those within one loop.
func (p *Picture) across() (out [][]*member) {
	far := false
	for _, l := range p.Loops {
		far = far || slices.ContainsFunc(l.Tasks, func(t *Task) bool { return t.Elsewhere != nil })
	}
	if !far {
		return nil
	}
	var nodes []*member
	first := make([]int, len(p.Loops)) // the node of the first task of each loop
	byName := make(map[string]int)
	for i, l := range p.Loops {
		first[i] = len(nodes)
		if _, twice := byName[l.Name]; twice {
			byName[l.Name] = unclear
		} else {
			byName[l.Name] = i
		}
		for _, t := range l.Tasks {
			nodes = append(nodes, &member{i, t})
		}
	}
	all := make(map[int][]int)
	for i, l := range p.Loops {
		for from, to := range needs(l) {
			for _, j := range to {
				all[first[i]+from] = append(all[first[i]+from], first[i]+j)
			}
		}
		for from, t := range l.Tasks {
			if t.Elsewhere == nil {
				continue
			}
			if there, known := byName[t.Elsewhere.Loop]; known && there != unclear {
				if j, ok := p.Loops[there].byID()(t.Elsewhere.ID); ok {
					all[first[i]+from] = append(all[first[i]+from], first[there]+j)
				}
			}
		}
	}
	for _, cycle := range circles(all) {
		ring := make([]*member, len(cycle))
		for i, n := range cycle {
			ring[i] = nodes[n]
		}
		if slices.ContainsFunc(ring, func(n *member) bool { return n.loop != ring[0].loop }) {
			out = append(out, ring)
		}
	}
	return out
}

// unclear stands for the loop of a name that several loops have.
const unclear = -1

// ids returns the names of the tasks in rings.
func (p *Picture) ids(rings [][]*member) [][]TaskID {
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

// WriteRings writes a line for each cycle of tasks of several loops that wait for each
// other.
func (p *Picture) WriteRings(w io.Writer) error {
	var b strings.Builder
	name := p.names()
	for _, ring := range p.Rings {
		b.WriteString("CYCLE: " + cycleText(len(ring), 0, func(i int) string { return name(ring[i]) }) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// names returns a function that names tasks with their loops, for many of them.
func (p *Picture) names() func(id TaskID) string {
	known := make(map[string]func(id uint64) string)
	return func(id TaskID) string {
		name, ok := known[id.Loop]
		if !ok {
			name = func(id uint64) string { return label(id, nil) }
			if i := slices.IndexFunc(p.Loops, func(l *Loop) bool { return l.Name == id.Loop }); i >= 0 {
				name = p.Loops[i].names()
			}
			known[id.Loop] = name
		}
		return id.Loop + " " + name(id.ID)
	}
}

package inspect

// The page's table of the things for which tasks wait: locks, queues,
// events and other tasks, as rondo locks has it.

import "html/template"

// A thing is one for which tasks wait, as the page shows it.
type thing struct {
	Resource
	Loop   string
	Whose  string // the task that has waited longest
	Holder string // the task that can end the waits; "" if none is known
	Does   string // what that task does itself
	Link   template.URL
}

// A thingTable is the table of things.
type thingTable struct {
	Rows []thing
	More int // things for which there is no room
}

func newThingTable(p *Program, c pageChoice) thingTable {
	var out thingTable
	room := space(thingBytes)
	for _, l := range p.Loops {
		find := l.byID()
		task := func(id uint64) *Task {
			if i, ok := find(id); ok {
				return l.Tasks[i]
			}
			return nil
		}
		for _, r := range l.Resources() {
			row := thing{Resource: r, Loop: clip(l.Name), Whose: clip(label(r.First, task(r.First)))}
			if r.Holder != 0 {
				holder := task(r.Holder)
				row.Holder = clip(label(r.Holder, holder))
				if holder != nil {
					row.Does = clip(holder.Doing())
				}
			}
			of := c
			of.filter, of.open, of.from = r.Kind+" "+r.Name, "all", 0
			row.Kind, row.Name = clip(r.Kind), clip(r.Name)
			if r.Name != "" && len(of.filter) <= mostText {
				row.Link = of.link()
			}
			if len(out.Rows) == mostThings || !room.take(210, row.Loop, row.Kind, row.Name, row.Whose, row.Holder, row.Does, string(row.Link)) {
				out.More++
				continue
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

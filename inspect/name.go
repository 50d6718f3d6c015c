package inspect

// The names of tasks. Any task may change a name at any time, also
// while it is read, and the old text may be freed. A name is behind a pointer and
// is never written again while it is one. The memory of an old name may become that
// of a new one of the same task, with the text of something else in between. So the
// task counts the names that it gets, each before it gets it.
//
// The law: a name is believed if pointer, what it points to and the count are the
// same afterwards, and the task still lives after that: then its memory was that of
// one name from the first reading of the count to the second.

import (
	"strings"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// renames is how often a name that changed while it was read is read again.
const renames = 8

// name reads the names and the functions of the tasks.
func (r *reader) name() {
	fns := r.column(len(r.tasks))
	for i, s := range r.tasks {
		fns[i] = s.task.uint64(layout.TaskFn)
	}
	codes := r.column(len(fns))
	r.each(fns, 8, func(i int, code record) { codes[i] = goinspect.Uint64(code.b, 0) })
	for i, n := range r.namesOf(r.tasks) {
		s := r.tasks[i]
		s.name = n
		pc := codes[i]
		if n.entry != 0 {
			pc = n.entry
		}
		if pc != 0 {
			// What stands for a method value is called as the method, with "-fm".
			s.info.Func = strings.TrimSuffix(r.program.Func(pc).Func, "-fm")
		}
	}
	r.readNames(r.tasks)
}

// A named is where the name of a task was said to stand, and what else is in its
// record of rare things.
type named struct {
	at, text, length uint64
	entry            uint64
	nth              uint16 // of the names that the task was given
}

// namesOf reads where the names of some tasks stand.
func (r *reader) namesOf(tasks []*seen) []named {
	out := sized(&r.shelves().named, len(tasks))
	rares, cells := r.column(len(tasks)), r.column(len(tasks))
	for i, s := range tasks {
		rares[i] = s.task.uint64(layout.TaskExtra)
	}
	r.each(rares, r.size(layout.ExtraSize), func(i int, rare record) {
		cells[i] = rare.uint64(layout.ExtraName)
		out[i].at, out[i].entry, out[i].nth = cells[i], rare.uint64(layout.ExtraEntry), rare.uint16(layout.ExtraRenames)
	})
	r.each(cells, 16, func(i int, cell record) {
		out[i].text, out[i].length = goinspect.Uint64(cell.b, 0), goinspect.Uint64(cell.b, 8)
	})
	return out
}

// readNames reads the names of some tasks from where they were said to stand.
func (r *reader) readNames(tasks []*seen) {
	addrs, lengths := r.column(len(tasks)), r.column(len(tasks))
	for i, s := range tasks {
		addrs[i], lengths[i] = s.name.text, s.name.length
	}
	// The names of those that have none are made as parts of one text.
	var room []byte
	nameless := 0
	for i, name := range r.strings(addrs, lengths) {
		if tasks[i].info.Name = name; name == "" {
			room = appendUnnamed(room, tasks[i].info.ID)
			nameless++
		}
	}
	if nameless == 0 {
		return
	}
	text, from := string(room), 0
	for _, s := range tasks {
		if s.info.Name == "" {
			n := len(appendUnnamed(room[:0], s.info.ID))
			s.info.Name = text[from : from+n]
			from += n
		}
	}
}

// confirmNames reads again those names of some tasks that have changed since they were read.
func (r *reader) confirmNames(tasks []*seen) {
	todo := tasks
	for try := 0; len(todo) > 0; try++ {
		var changed []*seen
		for i, n := range r.namesOf(todo) {
			if s := todo[i]; n != s.name {
				s.name = n
				s.info.Name = unnamed(s.info.ID)
				changed = append(changed, s)
			}
		}
		if todo = changed; try == renames {
			return
		}
		r.readNames(todo)
	}
}

package inspect

// This file reads the names of tasks. A name may be changed at any time, by the
// task or by another, while it is read: its address may be the new one and its
// length the old one, or the text may be gone. So it is believed only if it
// stands at the same address with the same length afterwards.

import (
	"strconv"

	"github.com/rondo-go/rondo/internal/window"
)

// renames is how often a name that changed while it was read is read again.
const renames = 8

// name reads the names and the functions of the tasks.
func (r *reader) name() {
	rares, fns := make([]uint64, len(r.tasks)), make([]uint64, len(r.tasks))
	for i, s := range r.tasks {
		rares[i], fns[i] = s.task.word(window.TaskRare), s.task.word(window.TaskFn)
	}
	read := r.many(rares, r.size(window.RareSize))
	codes := r.many(fns, 8)
	for i, s := range r.tasks {
		s.rare = read[i]
		pc := word(codes[i].b, 0)
		if s.rare.b != nil && s.rare.word(window.RareEntry) != 0 {
			pc = s.rare.word(window.RareEntry)
		}
		if pc != 0 {
			s.info.Func = r.program.Func(pc).Func
		}
	}
	r.readNames(r.tasks)
}

// readNames reads the names of some tasks from where they were said to stand.
func (r *reader) readNames(tasks []*seen) {
	addrs, lengths := make([]uint64, len(tasks)), make([]uint64, len(tasks))
	for i, s := range tasks {
		if s.rare.b != nil {
			addrs[i], lengths[i] = s.rare.pair(window.RareName)
		}
	}
	for i, name := range r.strings(addrs, lengths) {
		tasks[i].info.Name = name
		if name == "" {
			tasks[i].info.Name = unnamed(tasks[i].info.ID)
		}
	}
}

// unnamed is what a task without a name is called.
func unnamed(id uint64) string { return "task-" + strconv.FormatUint(id, 10) }

// confirmNames reads again the names that have changed since they were read.
func (r *reader) confirmNames() {
	todo := r.tasks
	for try := 0; len(todo) > 0; try++ {
		rares := make([]uint64, len(todo))
		for i, s := range todo {
			rares[i] = s.task.word(window.TaskRare)
		}
		var changed []*seen
		for i, again := range r.many(rares, r.size(window.RareSize)) {
			s := todo[i]
			if again.b == nil || s.rare.b == nil {
				continue
			}
			at, n := s.rare.pair(window.RareName)
			if now, length := again.pair(window.RareName); now == at && length == n {
				continue
			}
			s.rare = again
			s.info.Name = unnamed(s.info.ID)
			changed = append(changed, s)
		}
		if todo = changed; try == renames {
			return
		}
		r.readNames(todo)
	}
}

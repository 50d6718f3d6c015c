package inspect

// This file reads tasks again that ran while the picture was taken. In a busy loop
// most tasks do, because the picture takes milliseconds. One task alone is read in
// some ten microseconds, and nearly always it does not run in that time.

import "github.com/rondo-go/rondo/internal/layout"

// Bounds on how long that may take.
const (
	mostAgain = 512 // looks, at all tasks together
	triesEach = 3
)

// again reads the tasks that moved once more, each for itself.
func (r *reader) again() {
	left := mostAgain
	for i, s := range r.tasks {
		if !s.info.Moved {
			continue
		}
		for range triesEach {
			if left == 0 {
				return
			}
			left--
			if one := r.alone(s.addr); one != nil {
				r.tasks[i] = one
				break
			}
			r.byAddr[s.addr] = s
		}
	}
}

// alone reads the task at the given address, or returns nil if it moves again.
func (r *reader) alone(addr uint64) *seen {
	one := *r
	one.tasks = nil
	head, ok := one.head()
	if !ok {
		return nil
	}
	one.readTasks([]uint64{addr}, []uint64{one.one(addr, layout.TaskSize).uint64(layout.TaskWorker)})
	if len(one.tasks) == 0 {
		return nil
	}
	one.describe(head)
	if one.options.Stacks || len(one.options.StacksOf) > 0 {
		one.readStacks()
	}
	if missed, moved := one.confirm(); missed > 0 || moved {
		return nil
	}
	return one.tasks[0]
}

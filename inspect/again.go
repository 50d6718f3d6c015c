package inspect

// Tasks are read again that ran while the snapshot was taken. In a busy loop
// most tasks do, because the snapshot takes milliseconds. One task alone is read in
// some ten microseconds, and nearly always it does not run in that time.

import (
	"time"

	"github.com/rondo-go/rondo/internal/layout"
)

// Bounds on the time that reading tasks again may take.
const (
	mostAgain = 512 // looks, at all tasks together
	longest   = 200 * time.Millisecond
	triesEach = 3
)

// again reads the tasks of a portion that moved once more, each for itself.
func (r *reader) again() {
	began := time.Now()
	defer func() { r.looked += time.Since(began) }()
	for i, s := range r.tasks {
		if !s.info.Moved {
			continue
		}
		for range triesEach {
			if r.looks == mostAgain || r.looked+time.Since(began) > longest {
				return
			}
			r.looks++
			if one := r.alone(s.addr); one != nil {
				r.tasks[i] = one
				break
			}
		}
	}
}

// alone reads the task at the given address, or returns nil if it moves again.
func (r *reader) alone(addr uint64) *seen {
	one := *r
	one.tasks, one.kept, one.data, one.requests, one.places, one.columns = nil, nil, nil, nil, nil, columnRoom{}
	one.readTasks([]uint64{addr}, []uint64{one.one(addr, layout.TaskSize).uint64(layout.TaskWorker)})
	// After the task: what is nested in it is of the wait that was read, or the task
	// has run.
	head, ok := one.head()
	if !ok || len(one.tasks) == 0 {
		return nil
	}
	one.readNested(head, addr)
	one.describe(head)
	if one.options.Stacks || len(one.options.StacksOf) > 0 {
		one.readStacks()
		one.readOffloads()
	}
	if one.confirm() || len(one.tasks) == 0 {
		return nil
	}
	return one.tasks[0]
}

package inspect

// The holders of the Mutexes and RWMutexes that tasks wait for. The list of those that wait
// for a Mutex says it; that of an RWMutex does so for the first in its line only, and not for
// readers. A lock of the program's own that says "lock" too is told apart by where its name stands.

import (
	"cmp"
	"slices"

	"github.com/rondo-go/rondo/internal/layout"
)

// A hold says how the lock is taken for which a task waits.
type hold struct {
	ended    bool   // by a task that has ended
	readers  int    // how many tasks have it for reading
	writer   uint64 // the task that has an RWMutex for writing; 0 if none is known to
	writerAt uint64
}

// ofLock are the words for waits for a Mutex or an RWMutex.
var ofLock = []string{"lock", "rlock"}

// mostRuns bounds how many runs of consecutive waiters are read for a portion of tasks.
// mostReaders is the largest number of readers of a lock that is believed.
const (
	mostRuns    = 1 << 14
	mostReaders = maxTasks
)

// readHolds notes how the locks are held for which tasks wait. what has the words for the waits.
func (r *reader) readHolds(tasks []*seen, what func(i int) string) {
	for i, h := range r.holds(tasks, what) {
		tasks[i].hold = h
	}
}

// holds returns for each task how the lock is held for which it waits; the zero hold if it waits
// for none, and for a program whose Rondo is older than the table that says where this stands.
func (r *reader) holds(tasks []*seen, what func(i int) string) []hold {
	out := make([]hold, len(tasks))
	if r.size(layout.RunSize) == 0 || r.size(layout.ReadwriteSize) == 0 {
		return out
	}
	lines := make(map[uint64][]int) // the tasks that may wait for the RWMutex at an address
	for i, s := range tasks {
		if s.list.b == nil || !slices.Contains(ofLock, what(i)) {
			continue
		}
		kind, name := s.list.pair(layout.ListOf)
		list := s.worker.uint64(layout.WorkerList)
		if kind == 0 || name == 0 {
			continue
		}
		if list == name+uint64(r.size(layout.MutexWaiters)-r.size(layout.MutexName)) {
			out[i].ended = s.owner == 0 && r.ended(s.list.uint64(layout.ListOwner))
			continue
		}
		at := name - uint64(r.size(layout.ReadwriteName))
		lines[at] = append(lines[at], i)
	}
	runs := mostRuns
	for at, waiting := range lines {
		h, line, ok := r.readwrite(at, &runs)
		for _, i := range waiting {
			if ok && line[tasks[i].worker.uint64(layout.WorkerList)] {
				out[i] = h
			}
		}
	}
	return out
}

// readwrite reads the RWMutex at an address, and the addresses of the lists of its line. A task
// in none of these lists does not wait for an RWMutex there.
func (r *reader) readwrite(at uint64, runs *int) (h hold, line map[uint64]bool, ok bool) {
	m := r.one(at, layout.ReadwriteSize)
	readers := m.uint64(layout.ReadwriteReaders)
	if m.b == nil || readers > mostReaders {
		return hold{}, nil, false
	}
	line = make(map[uint64]bool)
	for next := m.uint64(layout.ReadwriteHead); next != 0 && *runs > 0; *runs-- {
		run := r.one(next, layout.RunSize)
		if run.b == nil || line[next+uint64(r.size(layout.RunList))] {
			break
		}
		line[next+uint64(r.size(layout.RunList))] = true
		next = run.uint64(layout.RunNext)
	}
	h.readers = int(readers)
	if m.byte(layout.ReadwriteWriting) != 0 {
		h.writerAt = m.uint64(layout.ReadwriteWriter)
		h.writer = r.numbers([]uint64{h.writerAt})[0]
		h.ended = h.writer == 0 && r.ended(h.writerAt)
	}
	return h, line, true
}

// ended reports whether a task that has ended stands at an address.
func (r *reader) ended(at uint64) bool {
	t := r.one(at, layout.TaskSize)
	return t.b != nil && t.byte(layout.TaskState) == stateDone && t.uint64(layout.TaskID) != 0 &&
		t.uint64At(layout.TaskScope, layout.ScopeLoop) == r.at
}

// holder returns the number of the task that can end the wait of s, and where it stands.
func (s *seen) holder() (id, at uint64) {
	return cmp.Or(s.owner, s.hold.writer), cmp.Or(s.list.uint64(layout.ListOwner), s.hold.writerAt)
}

// limits notes of tasks that have not begun that their scope's limit holds them up.
func (r *reader) limits() {
	if r.size(layout.RestSize) == 0 {
		return
	}
	type crowded struct {
		most uint64
		held map[uint64]bool
	}
	known := make(map[uint64]*crowded)
	for _, s := range r.tasks {
		at := s.task.uint64(layout.TaskOwner)
		scope := r.scopes[at]
		if s.task.byte(layout.TaskState) != stateNew || scope.b == nil || scope.uint64(layout.ScopeRest) == 0 {
			continue
		}
		l, ok := known[at]
		if !ok {
			l = &crowded{held: make(map[uint64]bool)}
			known[at] = l
			rest := r.one(scope.uint64(layout.ScopeRest), layout.RestSize)
			l.most = rest.uint64(layout.RestLimit)
			from, n := rest.pair(layout.RestHeld)
			if l.most == 0 || n > uint64(len(r.ring.addrs)) {
				continue
			}
			addrs := make([]uint64, n)
			for i := range addrs {
				addrs[i] = from + 8*uint64(i)
			}
			r.each(addrs, 8, func(_ int, b record) { l.held[b.word()] = true })
		}
		if l.held[s.addr] {
			s.info.What, s.info.Waiting = limited, limited+" of "+count(int(l.most), "task")
		}
	}
}

package inspect

// This file reads one loop of a program that runs on meanwhile. Order is
// everything:
//
//  1. walk the ring of tasks, and check at each that the link back agrees;
//  2. then read what runs each task, each task again, and what it waits for;
//  3. read the stacks;
//  4. read tasks and workers once more. A task that is still in the ring with the
//     same number lived throughout, so what was read of it is its own. One whose
//     count of switches has changed ran meanwhile: its stack and its wait may be
//     of two moments, and are dropped.
//
// What runs a task, which has the count, is read before the task the first time and
// after it the second time. So a task that was seen to wait did so from then until
// the count was read again, if that is the same; what was read of its wait may be
// of before, so it is compared too.
//
// The count of switches is what makes that certain: a task that ran and came
// back to the same place looks the same in everything else.

import (
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// reader reads one loop.
type reader struct {
	program program
	layout  *offsets
	at      uint64 // where the loop stands
	live    bool
	inside  bool          // it is the calling program's own loop
	late    time.Duration // for how long the loop has not answered
	options Options
	retries int // how often a picture that is not exact is taken again

	now    int64 // the loop's clock
	tasks  []*seen
	byAddr map[uint64]*seen
	byID   map[uint64]*seen // nil until it is needed
	scopes map[uint64]record
	nested map[uint64][]goinspect.Goroutine // those that are nested in a task
	frames map[*goinspect.Frame][]Frame

	data     []byte // for each
	requests []goinspect.Request
	places   []int
}

// A program is what is read: another one, or the calling one.
type program interface {
	Memory() goinspect.Memory
	Func(pc uint64) goinspect.Frame
	TypeName(addr uint64) string
	Stacks(gs []goinspect.Goroutine) []goinspect.Stack
	Resumers(gs []goinspect.Goroutine) []uint64
	Resumed(known []goinspect.Goroutine) (map[uint64]goinspect.Goroutine, bool)
	Missing() string
}

// goroutine returns the goroutine of a worker.
func goroutine(worker record) goinspect.Goroutine {
	return goinspect.Goroutine{Record: worker.uint64(layout.WorkerG), ID: worker.uint64(layout.WorkerID)}
}

// seen is one task as it was read.
type seen struct {
	addr   uint64
	task   record
	worker record
	list   record
	owner  uint64 // the number of the task that owns list; 0 if none does
	name   named
	info   *Task
	moved  bool // it has got another worker while it was read
}

// Bounds on what is believed of a program.
const (
	maxTasks  = 50_000_000
	maxBreaks = 1000
	maxName   = 512
	maxScopes = 64
)

// A picture that is not exact is taken again, if that is cheap.
const (
	retries   = 4
	cheapness = 5 * time.Millisecond
)

// loop returns the picture of the loop. It reports whether there is one.
func (r *reader) loop() (*Loop, bool) {
	for try := 0; ; try++ {
		began := time.Now()
		l, ok := r.once()
		if !ok || l.Exact || try == r.retries || time.Since(began) > cheapness {
			return l, ok
		}
	}
}

func (r *reader) once() (*Loop, bool) {
	before, ok := r.head()
	if !ok {
		return nil, false
	}
	r.byAddr, r.byID, r.frames = make(map[uint64]*seen), nil, make(map[*goinspect.Frame][]Frame)
	r.readTasks(r.walk(before))
	// After the tasks: what is nested in one is of the wait that was read, or the task
	// has run.
	r.readNested(r.one(r.at, layout.LoopSize), 0)
	r.describe(before)
	if r.options.Stacks || len(r.options.StacksOf) > 0 {
		r.readStacks()
	}
	missed, moved := r.confirm()
	if moved {
		r.again()
	}
	after, ok := r.head()
	if !ok {
		return nil, false
	}
	l := r.summary(before, after)
	l.Missed = missed
	if n := r.options.MaxTasks; n > 0 && len(r.tasks)+missed >= n {
		l.Omitted = max(0, l.count(before)-n)
	}
	l.Exact = missed == 0 && !moved && len(r.tasks)+l.Omitted == l.count(before) &&
		before.uint64(layout.LoopSteps) == after.uint64(layout.LoopSteps) && before.uint64(layout.LoopSpawned) == after.uint64(layout.LoopSpawned)
	for _, s := range r.tasks {
		l.Tasks = append(l.Tasks, s.info)
	}
	l.Cycles = r.lasting(cycles(l))
	l.Held = r.held(l, before, after)
	return l, true
}

func (l *Loop) count(head record) int { return int(head.uint64(layout.LoopLive)) }

// head reads the loop's own record, and what the clock shows.
func (r *reader) head() (record, bool) {
	h := r.one(r.at, layout.LoopSize)
	if h.b == nil || h.uint64(layout.LoopSerial) == 0 || h.uint64(layout.LoopLive) > maxTasks {
		return record{}, false
	}
	r.now = int64(h.uint64(layout.LoopNow)) + int64(r.late)
	if epoch := int64(h.uint64(layout.LoopEpoch)); epoch != 0 && r.live {
		r.now = max(r.now, monotonic()-epoch)
	}
	return h, true
}

// one reads one record, whose size stands at the given place among the offsets.
func (r *reader) one(at uint64, size int) record {
	b := make([]byte, r.layout.offsets[size])
	if at == 0 || r.program.Memory().Read(at, b) != nil {
		return record{layout: r.layout}
	}
	return record{r.layout, b}
}

// many reads records of one size, one for each address; where none is, the record
// has no bytes.
func (r *reader) many(addrs []uint64, n int) []record {
	out := make([]record, len(addrs))
	requests := make([]goinspect.Request, 0, len(addrs))
	places := make([]int, 0, len(addrs))
	data := make([]byte, n*len(addrs))
	for i, at := range addrs {
		out[i].layout = r.layout
		if at != 0 {
			requests = append(requests, goinspect.Request{Addr: at, Data: data[i*n : (i+1)*n : (i+1)*n]})
			places = append(places, i)
		}
	}
	r.program.Memory().ReadMany(requests)
	for i := range requests {
		if requests[i].OK {
			out[places[i]].b = requests[i].Data
		}
	}
	return out
}

// portion is how many records are read at a time where they are not kept.
const portion = 4096

// each reads records as many does, a portion at a time, and calls f for each that is
// there. The record is gone after that.
func (r *reader) each(addrs []uint64, n int, f func(i int, t record)) {
	if len(r.data) < n*portion {
		r.data = make([]byte, n*portion)
	}
	for from := 0; from < len(addrs); from += portion {
		some := addrs[from:min(from+portion, len(addrs))]
		r.requests, r.places = r.requests[:0], r.places[:0]
		for i, at := range some {
			if at != 0 {
				r.requests = append(r.requests, goinspect.Request{Addr: at, Data: r.data[i*n : (i+1)*n : (i+1)*n]})
				r.places = append(r.places, from+i)
			}
		}
		r.program.Memory().ReadMany(r.requests)
		for i := range r.requests {
			if r.requests[i].OK {
				f(r.places[i], record{r.layout, r.requests[i].Data})
			}
		}
	}
}

// size returns a record's size.
func (r *reader) size(which int) int { return r.layout.offsets[which] }

// strings reads the strings whose addresses and lengths are given.
func (r *reader) strings(addrs, lengths []uint64) []string {
	out := make([]string, len(addrs))
	requests := make([]goinspect.Request, len(addrs))
	for i := range addrs {
		if addrs[i] != 0 {
			requests[i] = goinspect.Request{Addr: addrs[i], Data: make([]byte, min(lengths[i], maxName))}
		}
	}
	r.program.Memory().ReadMany(requests)
	for i := range requests {
		if requests[i].OK {
			out[i] = goinspect.Printable(string(requests[i].Data))
		}
	}
	return out
}

// walk returns the addresses of the tasks in the ring, and of what runs each.
func (r *reader) walk(head record) (out, workers []uint64) {
	start := head.uint64(layout.LoopTasks)
	chunks := goinspect.NewChunks(r.program.Memory())
	read := func(at uint64) (record, bool) {
		if r.inside {
			t := r.one(at, layout.TaskSize)
			return t, r.mine(t)
		}
		b, ok := chunks.Bytes(at, r.size(layout.TaskSize))
		t := record{r.layout, b}
		return t, ok && r.mine(t)
	}
	known := make(map[uint64]bool)
	limit := int(head.uint64(layout.LoopLive)) + 1000
	if n := r.options.MaxTasks; n > 0 {
		limit = min(limit, n)
	}
	breaks := 0
	for at := start; at != 0 && !known[at] && len(out) < limit; {
		t, ok := read(at)
		if ok && (len(out) == 0 || t.uint64(layout.TaskPrev) == out[len(out)-1]) {
			known[at] = true
			out, workers = append(out, at), append(workers, t.uint64(layout.TaskWorker))
			at = t.uint64(layout.TaskNext)
			continue
		}
		// The ring changed under the walk: go on from the last that is still in it.
		if breaks++; breaks > maxBreaks {
			break
		}
		chunks.Drop()
		at = 0
		for len(out) > 0 && at == 0 {
			last := out[len(out)-1]
			if t, ok := read(last); ok && t.uint64(layout.TaskNext) != 0 {
				at = t.uint64(layout.TaskNext)
			} else {
				out, workers = out[:len(out)-1], workers[:len(workers)-1]
				delete(known, last)
			}
		}
	}
	return out, workers
}

// mine reports whether t is a live task of the loop.
func (r *reader) mine(t record) bool {
	return goinspect.Uint64(t.b, r.layout.offsets[layout.TaskScope]+r.layout.offsets[layout.ScopeLoop]) == r.at &&
		t.uint64(layout.TaskNext) != 0 && t.uint64(layout.TaskID) != 0 && t.byte(layout.TaskState) < stateDone
}

// readTasks is step 2, for the tasks at the given addresses, and the workers that
// they were seen with.
func (r *reader) readTasks(addrs, workers []uint64) {
	r.tasks = r.tasks[:0]
	with := r.many(workers, r.size(layout.WorkerSize))
	lists := make([]uint64, len(addrs))
	for i, t := range r.many(addrs, r.size(layout.TaskSize)) {
		s := &seen{addr: addrs[i], task: t}
		r.tasks = append(r.tasks, s)
		if t.b == nil || !r.mine(t) {
			s.task.b = nil
			continue
		}
		w := with[i]
		s.moved = t.uint64(layout.TaskWorker) != workers[i]
		if !s.moved && w.b != nil && w.uint64(layout.WorkerJob) == addrs[i] {
			s.worker = w
			lists[i] = w.uint64(layout.WorkerList)
		}
	}
	for i, l := range r.many(lists, r.size(layout.ListSize)) {
		r.tasks[i].list = l
	}
	for i, id := range r.owners(r.tasks) {
		r.tasks[i].owner = id
	}
	r.tasks = slices.DeleteFunc(r.tasks, func(s *seen) bool { return s.task.b == nil })
	for _, s := range r.tasks {
		s.info = &Task{}
		r.byAddr[s.addr] = s
	}
}

// summary is the loop's own part of the picture.
func (r *reader) summary(before, after record) *Loop {
	name := "loop"
	if at, n := before.pair(layout.LoopName); n > 0 {
		name = r.strings([]uint64{at}, []uint64{n})[0]
	}
	_, timers := before.pair(layout.LoopTimers)
	l := &Loop{
		ID: before.uint64(layout.LoopSerial), Name: name, Uptime: time.Duration(r.now - int64(before.uint64(layout.LoopStarted))),
		Idle: time.Duration(before.uint64(layout.LoopIdle)), Turns: before.uint64(layout.LoopTurns),
		Switches: before.uint64(layout.LoopSwitches), Steps: before.uint64(layout.LoopSteps), Posts: before.uint64(layout.LoopPosts),
		Spawned: before.uint64(layout.LoopSpawned), Ready: int(before.uint64(layout.LoopReady)), Timers: int(timers),
		Offloads: int(before.uint64(layout.LoopOffloads)), Workers: int(before.uint64(layout.LoopWorkers)),
		Lag: time.Duration(r.now - int64(after.uint64(layout.LoopNow))), Tasks: []*Task{},
	}
	if s := r.byAddr[before.uint64(layout.LoopCurrent)]; s != nil {
		l.Running = s.info.ID
	}
	return l
}

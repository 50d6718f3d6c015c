package inspect

// A reader reads one loop of a program that runs on meanwhile. Order is
// everything:
//
//  1. walk the ring of tasks, and check at each that the link back agrees;
//
// then, for one portion of the tasks after the other, so that of a million only what
// the snapshot needs is kept:
//
//  2. read what runs each task, each task again, and what it waits for;
//  3. read the stacks;
//  4. read tasks and workers once more. A task that is still in the ring with the
//     number that the walk saw lived throughout, so what was read of it is its own. One whose
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
	"fmt"
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
	retries int // how often a snapshot that is not exact is taken again
	portion int // how many tasks are read, described and confirmed at a time

	budget *budget

	now    int64 // the loop's clock
	ring   ring
	frames map[*goinspect.Frame][]Frame
	looks  int           // how often tasks that had moved were read again
	looked time.Duration // how long that took

	// What is known of the tasks of a portion.
	tasks  []*seen
	names  map[uint64]string // of tasks for which others wait, by their numbers
	scopes map[uint64]record
	owners map[uint64]*ScopeID              // by the address of the scope
	nested map[uint64][]goinspect.Goroutine // those that are nested in a task
	words  map[string]string                // texts that several tasks have
	slept  slept
	sites  map[uint64]*Frame // calls that have started tasks, by the addresses behind them
	known  []uint64          // the records of the goroutines that run the tasks, or are nested in them
	runs   uint64            // that of the goroutine of Run; 0 if it is not known

	kept     *shelves
	columns  columnRoom
	data     []byte // for each
	requests []goinspect.Request
	places   []int
}

// A program is what is read: another one, or the calling one.
type program interface {
	Memory() goinspect.Memory
	Func(pc uint64) goinspect.Frame
	Call(pc uint64) []goinspect.Frame
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

// shelves have what is read of the tasks of one portion, or is needed for that.
type shelves struct {
	tasks, workers, lists shelf
	all                   []seen
	infos                 []Task
	named                 []named
	places                []record
	waits                 []awaited
	kinds                 []string
}

// room returns room for what is said of n tasks. With again, that is gone when others are read.
func (k *shelves) room(n int, again bool) []Task {
	if !again {
		return make([]Task, n)
	}
	return sized(&k.infos, n)
}

// seen is one task as it was read.
type seen struct {
	addr   uint64
	task   record
	worker record
	list   record
	owner  uint64 // the number of the task that owns list; 0 if none does
	hold   hold   // of the lock that it waits for
	name   named
	info   *Task
}

// Bounds on what is believed of a program.
const (
	maxTasks  = 50_000_000
	maxBreaks = 1000
	maxName   = 512
	maxScopes = 64
)

// A snapshot that is not exact is taken again, if that is cheap.
const (
	retries   = 4
	cheapness = 5 * time.Millisecond
)

// loop returns the snapshot of the loop. It reports whether there is one.
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
	r.frames, r.looks, r.looked, r.known = make(map[*goinspect.Frame][]Frame), 0, 0, nil
	all := r.walk(before)
	got := r.gather()
	if r.options.Goroutines {
		r.known = make([]uint64, 0, len(r.ring.addrs))
	}
	missed, moved := 0, false
	for from := 0; from < len(r.ring.addrs); from += r.portion {
		if from > 0 && r.budget.over() {
			all = false
			break
		}
		to := min(from+r.portion, len(r.ring.addrs))
		m, v := r.readPortion(r.ring.addrs[from:to], r.ring.workers[from:to])
		missed, moved = missed+m, moved || v
		got.add(r)
	}
	after, ok := r.head()
	if !ok {
		return nil, false
	}
	l := r.summary(before, after)
	l.Tasks, l.Briefs, l.apart, l.Missed = got.tasks, got.briefs, got.apart, missed
	if n := r.options.MaxTasks; !all || n > 0 && got.len()+missed >= n {
		l.Omitted = max(0, l.count(before)-got.len()-missed)
	}
	if !all {
		l.Short = fmt.Sprintf("%s not read: the snapshot %s", were(l.Omitted, "task"), r.budget.short)
	}
	l.Exact = missed == 0 && !moved && got.len()+l.Omitted == l.count(before) &&
		before.uint64(layout.LoopSteps) == after.uint64(layout.LoopSteps) && before.uint64(layout.LoopSpawned) == after.uint64(layout.LoopSpawned)
	if quiet := before.uint64(layout.LoopSteps) == after.uint64(layout.LoopSteps) && before.uint64(layout.LoopSpawned) == after.uint64(layout.LoopSpawned); quiet && r.options.MaxTasks == 0 && all {
		// Nothing ran, so the tasks that are missing have not ended.
		if lost := l.count(before) - got.len(); lost > 0 {
			l.Omitted, l.Short = lost, fmt.Sprintf("%s not read: the memory where they are listed could not be", were(lost, "task"))
		}
	}
	r.costs(l, after)
	l.Deadlock = r.deadlock(before, after)
	l.Cycles = r.cycles(l)
	l.Held = r.held(l, before, after)
	l.Busy = l.Uptime - l.Idle
	if l.Running == 0 && l.Ready == 0 && l.Held == nil {
		l.Busy -= l.Lag // it sleeps
		l.Lag = min(l.Lag, r.overdue(after))
	}
	l.Busy = max(0, l.Busy)
	return l, true
}

// deadlocked is for how long nothing can run, and nothing known can wake a loop, that is called
// dead: as long as the loop itself waits before it says so.
const deadlocked = time.Second

// deadlock returns for how long the loop has been in deadlock, by its own judgement; 0 if it is
// in none. It judges each time before it sleeps, and any step that follows makes that void.
func (r *reader) deadlock(before, after record) time.Duration {
	since, steps := int64(after.uint64(layout.LoopStill)), after.uint64(layout.LoopSteps)
	if r.size(layout.LoopStill) == 0 || since == 0 || after.uint64(layout.LoopStillSteps) != steps || before.uint64(layout.LoopSteps) != steps ||
		after.uint64(layout.LoopReady) != 0 || after.uint64(layout.LoopCurrent) != 0 {
		return 0
	}
	if d := time.Duration(r.now - since); d >= deadlocked {
		return d
	}
	return 0
}

// overdue returns how long the first timer of the loop has been due, or 0.
func (r *reader) overdue(head record) time.Duration {
	at, n := head.pair(layout.LoopTimers)
	if n == 0 {
		return 0
	}
	first := r.one(at, layout.TimerSize)
	if first.b == nil {
		return 0
	}
	return max(0, time.Duration(r.now-int64(first.uint64(layout.TimerWhen))))
}

// readPortion is the steps from 2 on for some of the tasks. It returns how many of
// them are gone, and whether any ran meanwhile.
func (r *reader) readPortion(addrs, workers []uint64) (missed int, moved bool) {
	r.columns.reset()
	r.readTasks(addrs, workers)
	// After the tasks: what is nested in one is of the wait that was read, or the task
	// has run.
	head, ok := r.head()
	if !ok {
		r.tasks = nil
		return len(addrs), true
	}
	r.readNested(head, 0)
	if r.options.Goroutines {
		r.keepKnown(head)
	}
	r.describe(head)
	if r.options.Stacks || len(r.options.StacksOf) > 0 {
		r.readStacks()
		r.readOffloads()
	}
	moved = r.confirm()
	if moved {
		r.again()
	}
	return len(addrs) - len(r.tasks), moved
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
	return r.manyInto(new(shelf), addrs, n)
}

// A shelf has records, which are gone when others are read into it.
type shelf struct {
	records []record
	data    []byte
}

func (r *reader) manyInto(s *shelf, addrs []uint64, n int) []record {
	s.records = slices.Grow(s.records[:0], len(addrs))[:len(addrs)]
	s.data = slices.Grow(s.data[:0], n*len(addrs))[:n*len(addrs)]
	r.requests, r.places = r.requests[:0], r.places[:0]
	for i, at := range addrs {
		s.records[i] = record{layout: r.layout}
		if at != 0 {
			r.requests = append(r.requests, goinspect.Request{Addr: at, Data: s.data[i*n : (i+1)*n : (i+1)*n]})
			r.places = append(r.places, i)
		}
	}
	r.program.Memory().ReadMany(r.requests)
	for i := range r.requests {
		if r.requests[i].OK {
			s.records[r.places[i]].b = r.requests[i].Data
		}
	}
	return s.records
}

// portion is the number of tasks that a reader reads at a time, and piece the number of records
// where they are not kept.
const (
	portion = 1 << 14
	piece   = 1 << 12
)

// each reads records as many does, a portion at a time, and calls f for each that is
// there. The record is gone after that.
func (r *reader) each(addrs []uint64, n int, f func(i int, t record)) {
	if most := n * min(piece, len(addrs)); len(r.data) < most {
		r.data = make([]byte, most)
	}
	for from := 0; from < len(addrs); from += piece {
		some := addrs[from:min(from+piece, len(addrs))]
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

// strings reads the strings whose addresses and lengths are given. One that is asked
// for several times is read once.
func (r *reader) strings(addrs, lengths []uint64) []string {
	type text struct{ addr, length uint64 }
	places := make(map[text]int)
	var requests []goinspect.Request
	room := []byte(nil)
	for i, at := range addrs {
		key := text{at, lengths[i]}
		if _, ok := places[key]; at == 0 || ok {
			continue
		}
		places[key] = len(requests)
		n := int(min(lengths[i], maxName))
		if len(room) < n {
			room = make([]byte, 1<<14)
		}
		requests = append(requests, goinspect.Request{Addr: at, Data: room[:n:n]})
		room = room[n:]
	}
	r.program.Memory().ReadMany(requests)
	texts := make([]string, len(requests))
	for i := range requests {
		if requests[i].OK {
			texts[i] = goinspect.Printable(string(requests[i].Data))
		}
	}
	out := make([]string, len(addrs))
	for i, at := range addrs {
		if at != 0 {
			out[i] = texts[places[text{at, lengths[i]}]]
		}
	}
	return out
}

func (r *reader) shelves() *shelves {
	if r.kept == nil {
		r.kept = new(shelves)
	}
	return r.kept
}

// readTasks is step 2, for the tasks at the given addresses, and the workers that
// they were seen with.
func (r *reader) readTasks(addrs, workers []uint64) {
	k := r.shelves()
	with := r.manyInto(&k.workers, workers, r.size(layout.WorkerSize))
	lists := r.column(len(addrs))
	infos := k.room(len(addrs), r.briefly())
	k.all = slices.Grow(k.all[:0], len(addrs))[:len(addrs)]
	clear(k.all)
	r.tasks = slices.Grow(r.tasks[:0], len(addrs))[:len(addrs)]
	for i, t := range r.manyInto(&k.tasks, addrs, r.size(layout.TaskSize)) {
		s := &k.all[i]
		s.addr, s.task, s.info = addrs[i], t, &infos[i]
		r.tasks[i] = s
		// Its place in memory may have got another use since the walk, so its bytes alone
		// do not prove that it is a task.
		if t.b == nil || !r.mine(t) || t.uint64(layout.TaskID) != r.ring.at(addrs[i]) {
			s.task.b = nil
			continue
		}
		// One that has got another worker since then has moved, which confirm will see.
		w := with[i]
		if t.uint64(layout.TaskWorker) == workers[i] && w.b != nil && w.uint64(layout.WorkerJob) == addrs[i] {
			s.worker = w
			if r.options.Goroutines {
				r.known = append(r.known, w.uint64(layout.WorkerG))
			}
			lists[i] = w.uint64(layout.WorkerList)
		}
	}
	for i, l := range r.manyInto(&k.lists, lists, r.size(layout.ListSize)) {
		r.tasks[i].list = l
	}
	for i, id := range r.ownersOf(r.tasks) {
		r.tasks[i].owner = id
	}
	r.tasks = slices.DeleteFunc(r.tasks, func(s *seen) bool { return s.task.b == nil })
}

// summary is the loop's own part of the snapshot.
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
		Offloads: int(before.uint64(layout.LoopOffloads)), Workers: int(before.uint64(layout.LoopWorkers)), Conns: after.conns(),
		Lag: time.Duration(r.now - int64(after.uint64(layout.LoopNow))), Tasks: []*Task{},
	}
	if at := before.uint64(layout.LoopCurrent); at != 0 {
		l.Running = r.ring.at(at)
	}
	l.Servers = r.servers(after)
	return l
}

// servers reads the servers of a loop. There are none if the program's Rondo is too old to
// list them. A server that has ended since no longer points to itself.
func (r *reader) servers(head record) []Server {
	if !head.has(layout.ServerSize) || r.size(layout.ServerSize) < r.size(layout.ServerCounts) {
		return nil
	}
	at, n := head.pair(layout.LoopServers)
	if n == 0 || n > maxServers {
		return nil
	}
	list := make([]byte, 8*n)
	if r.program.Memory().Read(at, list) != nil {
		return nil
	}
	addrs := make([]uint64, n)
	for i := range addrs {
		addrs[i] = goinspect.Uint64(list, 8*i)
	}
	var out []Server
	var texts, lengths []uint64
	r.each(addrs, r.size(layout.ServerSize), func(i int, s record) {
		if s.uint64(layout.ServerSelf) != addrs[i] {
			return
		}
		text, length := s.pair(layout.ServerName)
		texts, lengths = append(texts, text), append(lengths, length)
		out = append(out, counted(s))
	})
	for i, name := range r.strings(texts, lengths) {
		out[i].Name = name
	}
	return out
}

// counted returns the counters in the record of a server.
func counted(s record) (out Server) {
	for i, counter := range out.counters() {
		at := s.layout.offsets[layout.ServerCounts] + 8*i
		if at+8 <= s.layout.offsets[layout.ServerSize] {
			*counter = max(0, int64(goinspect.Uint64(s.b, at)))
		}
	}
	return out
}

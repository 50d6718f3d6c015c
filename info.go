package rondo

// The list of a loop's tasks, and their description for people. The description only reads:
// nothing here changes what a task does.

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/internal/waits"
)

// TaskInfo describes a task at one moment.
type TaskInfo struct {
	ID       uint64
	Name     string
	Loop     string
	Func     string        // the function that it runs
	State    string        // new, ready, running, waiting or done
	Waiting  string        // what it waits for, such as "sleep" or "lock"
	Of       string        // its name: a lock's name, a peer's address
	On       uint64        // the task or the descriptor that it waits for; 0 if there is none
	Owner    uint64        // the task that can end the wait; 0 if none is known to
	Parent   uint64        // the task that started it; 0 for the main task
	Age      time.Duration // since it was started
	Since    time.Duration // how long it has been waiting
	Switches uint64        // how often it has started or gone on
	Site     string        // where it was started, as file:line; only with Debug
}

func (l *Loop) snapshot() []TaskInfo {
	l.now = l.driver.Now()
	infos := make([]TaskInfo, 0, l.live)
	for t := range l.tasks() {
		infos = append(infos, t.info())
	}
	return infos
}

// Info describes the task at this moment. It never suspends.
func (t *Task) Info() TaskInfo {
	l := t.scope.loop
	l.mustBeInside("Task.Info")
	l.now = l.driver.Now()
	return t.info()
}

func (t *Task) info() TaskInfo {
	l := t.scope.loop
	i := TaskInfo{
		ID: t.id, Name: t.Name(), Loop: l.name, State: t.state.String(), Parent: t.parent,
		Age: time.Duration(l.now - t.born), Func: t.function(), Site: t.startedAt(),
	}
	w := t.worker
	if w == nil {
		return i
	}
	i.Switches = w.switches
	if t.state == stateWaiting {
		i.Waiting, i.Of, i.Owner, i.Since = w.reason.What, w.of(), w.owner(), time.Duration(l.now-w.since)
		i.On = cmp.Or(i.Owner, w.reason.On)
	}
	return i
}

// function returns the name of the function that a task runs: the user's, also if
// Rondo has wrapped it into one of its own.
func (t *Task) function() string { return stacks.FuncName(t.entry()) }

// entry returns where that function begins, or 0.
func (t *Task) entry() uintptr {
	switch {
	case t.extra != nil && t.extra.entry != 0:
		return t.extra.entry
	case t.fn == nil:
		return 0
	}
	return reflect.ValueOf(t.fn).Pointer()
}

// owner returns the task that can end the wait, if one is known to. A wait without a list
// is one for a task, or for nothing that has a number.
func (w *worker) owner() uint64 {
	switch {
	case w.list == nil:
		return w.reason.On
	case w.list.Owner != nil:
		return w.list.Owner.id
	}
	return 0
}

// of returns the name of the object that a waiting task waits for, if the object has one. For a
// Select it says what each case waits for.
func (w *worker) of() string {
	if w.selects() {
		return w.selection.words(w)
	}
	return w.list.of()
}

func (w *WaitList) of() string {
	if w == nil {
		return ""
	}
	return waits.NameOf(w.Of)
}

// selecting is the reason of a task in a Select. What it waits for is in the worker's
// selection.
const selecting = "select"

// selects reports whether the task waits in a Select. A list of the program's may have that word.
func (w *worker) selects() bool { return w.reason.What == selecting && w.list == nil }

// listed ranges over the places that are in a list.
func (s *selection) listed() iter.Seq[*place] {
	return func(yield func(*place) bool) {
		if s == nil {
			return
		}
		for i := range s.places {
			if p := &s.places[i]; p.list != nil && !yield(p) {
				return
			}
		}
	}
}

// words says what w's task waits for in each case.
func (s *selection) words(w *worker) string {
	var cases []string
	for i := range s.places {
		switch p := &s.places[i]; {
		case p.list != nil:
			d := waits.Task{What: p.why.What, Of: p.list.of(), On: p.why.On}
			if owner := p.list.Owner; owner != nil {
				d.Owner, d.Own = owner.Name(), owner == w.job
			}
			cases = append(cases, d.String())
		case i == s.timer:
			cases = append(cases, "sleep")
		}
	}
	return strings.Join(cases, ", ")
}

// startedAt returns the place where the task was started, if that is known.
func (t *Task) startedAt() string {
	if t.rest() == nil {
		return ""
	}
	return t.rest().debugSite.String()
}

// waitsFor returns the task that can end the wait of t, if one is known to.
func (t *Task) waitsFor() *Task {
	if t.state != stateWaiting || t.worker.list == nil {
		return nil
	}
	return t.worker.list.Owner
}

func (t *Task) inWords() waits.Task {
	d := waits.Task{Name: t.Name(), State: t.state.String(), Site: t.startedAt()}
	if d.Waiting = t.state == stateWaiting; d.Waiting {
		d.What, d.Of, d.On = t.worker.reason.What, t.worker.of(), t.worker.reason.On
	}
	if d.Waiting && t.worker.selects() {
		d.What, d.Of = fmt.Sprintf("select of %d: %s", len(t.worker.selection.places), d.Of), ""
	}
	if owner := t.waitsFor(); owner != nil {
		d.Owner, d.Own = owner.Name(), owner == t
	}
	return d
}

// Name returns the name that SetName gave, or "task-N".
func (t *Task) Name() string {
	return cmp.Or(t.givenName(), "task-"+strconv.FormatUint(t.id, 10))
}

// givenName returns the name that the task was given, or "".
func (t *Task) givenName() string {
	if t.extra == nil || t.extra.name == nil {
		return ""
	}
	return *t.extra.name
}

// SetName names the task. The name identifies it in rondo tree and in reports.
func (t *Task) SetName(name string) { t.ensureExtra().setName(&name) }

// ID returns the task's number, which no other task of its loop has.
func (t *Task) ID() uint64 { return t.id }

// state is what a task is doing. At any moment each live task is either new or
// ready, and then in the loop's queue once, unless its scope's limit holds it back; or
// running, and there is one such task at most; or waiting, and then in one WaitList, or
// in one for each case of its Select.
type state uint8

const (
	stateNew state = iota
	stateReady
	stateRunning
	stateWaiting
	stateDone
)

func (s state) String() string { return [...]string{"new", "ready", "running", "waiting", "done"}[s] }

// taskExtra has the fields of some tasks only: tasks of a server or of Async, and tasks with a
// name.
type taskExtra struct {
	name     *string // behind a pointer, so that nobody who looks from outside sees half of it
	entry    uintptr // the user's function, if fn is one of Rondo's around it
	body     body
	rest     *taskRest
	nested   int32 // the first of the coroutines nested in it; see callers
	confined bool  // see effectiveScope
	exempt   bool  // the limit of its owner does not count it
	renames  uint16
}

// setName gives the task a name. It counts the name first: the memory of an old name may become
// that of the new one, and package inspect, which reads both from outside, sees it by the count.
func (x *taskExtra) setName(name *string) {
	x.renames++
	x.name = name
}

// taskRest has the fields that few tasks need.
type taskRest struct {
	debugSite  *stacks.Site // where the task was started; nil without Debug
	calls      *calls       // of OnDone; nil before the first
	unobserved *unobservedError
	passing    *stacks.Passing // the panic of a coroutine on its way to the task; see notePanic
	satisfied  func() bool     // whether a wait that is cancelled has its value after all
}

// A body is run by a task that has no function, such as that of an Async. When the task ends,
// complete is called with its error.
type body interface {
	run(ctx context.Context) error
	complete(err error)
}

func (t *Task) ensureExtra() *taskExtra {
	if t.extra == nil {
		t.extra = new(taskExtra)
	}
	return t.extra
}

func (t *Task) ensureRest() *taskRest {
	x := t.ensureExtra()
	if x.rest == nil {
		x.rest = new(taskRest)
	}
	return x.rest
}

// rest returns the taskRest of t, or nil.
func (t *Task) rest() *taskRest {
	if t.extra == nil {
		return nil
	}
	return t.extra.rest
}

// registry has the tasks of a loop.
type registry struct {
	allTasks list.List[Task] // those that live, without the runTask
	live     int             // how many they are
	lastID   uint64
	// runTask is no task: it stands for the goroutine of Run, which is parked like one.
	runTask   *Task
	main      *Task
	spare     *WaitList            // an empty one; see newWaitList
	unwatched list.Lazy[dependant] // young ones, which the collector does not watch yet; see ask
}

// currentID returns the number of the running task; 0 if none runs.
func (l *Loop) currentID() uint64 {
	if l.current == nil {
		return 0
	}
	return l.current.id
}

// tasks ranges over the live tasks, the oldest first.
func (r *registry) tasks() iter.Seq[*Task] { return r.allTasks.All(taskLinks) }

const taskLinks = unsafe.Offsetof(Task{}.links)

// LoopOf returns the loop that ctx belongs to, or nil. It never suspends.
//
// From then on any goroutine may Post to the loop. So a loop that LoopOf has returned is never
// reported as deadlocked, unless it is simulated.
func LoopOf(ctx context.Context) *Loop {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	s.loop.inbox.Expose()
	return s.loop
}

// Name returns the Runner's name of the loop, or "loop-N".
func (l *Loop) Name() string {
	l.mustBeFound()
	return l.name
}

// Stats counts what a loop has done since its Run began.
type Stats struct {
	Turns    uint64        // turns of the event loop
	Switches uint64        // how often a task has started or gone on
	Posts    uint64        // functions that came in through Post
	Tasks    int           // tasks that live
	Spawned  uint64        // tasks that were ever started
	Ready    int           // tasks and callbacks that could run
	Timers   int           // timers that are set
	Workers  int           // coroutines, idle ones included
	Busy     time.Duration // time spent running tasks and callbacks
	Idle     time.Duration // time spent asleep
}

// Stats returns the loop's counts. It never suspends, and like the loop's other
// methods it may be called only on the loop.
func (l *Loop) Stats() Stats {
	l.mustBeInside("Loop.Stats")
	s := l.stats
	s.Tasks, s.Spawned, s.Ready = l.live, l.lastID, l.queue.Len()+l.behind.Len()
	s.Timers, s.Workers = l.timers.Len(), l.workers
	s.Busy = time.Duration(l.driver.Now()-l.started) - s.Idle
	return s
}

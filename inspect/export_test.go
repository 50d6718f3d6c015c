package inspect

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"time"
	"unsafe"

	"github.com/rondo-go/rondo/internal/flight"
	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/layout"
)

// OpenMemory opens a program of which only the memory is there.
func OpenMemory(m goinspect.Memory) (*Target, error) { return open(m, 0, "the image") }

// Once has the target take each snapshot only once, also if it is not exact.
func (t *Target) Once() { t.retries = 0 }

// Portions has the target read so many tasks at a time.
func (t *Target) Portions(n int) { t.portion = n }

// Own returns those of the calls on a stack that are the program's.
func Own(stack []Frame) []Frame { return own(stack) }

// Ask is Snapshot as it works where a program cannot be read from outside. A loop
// has so long to answer.
func Ask(wait time.Duration) (*Program, error) { return ask(wait) }

// ReadTorn reads a loop of this program that does not answer, and whose first task is said to stand
// at an address.
func ReadTorn(task uint64) *Loop {
	l := new(struct {
		words [maxRecord / 8]uint64 // the loop's record
		kernel.Loop
	})
	for offset, word := range map[int]uint64{layout.LoopSerial: 1, layout.LoopLive: 1, layout.LoopTasks: task} {
		l.words[kernel.Table.Offsets[offset]/8] = word
	}
	return readHeld(l, answerTime)
}

// OwnTables returns what the page shows of the tables of AddTable.
func OwnTables(ctx context.Context) []table { return ownTables(ctx) }

// Holding is for how long a step may take that is not said to hold the loop.
const Holding = holding

// ParseStack reads the text of a stack.
func ParseStack(text string) (goinspect.Stack, bool) { return parseStack(text) }

// TypeNameOf returns the name of the type of a value, from what the value is in
// memory.
func TypeNameOf(v any) string {
	return (&calling{}).TypeName(uint64((*[2]uintptr)(unsafe.Pointer(&v))[0]))
}

// Whole returns the number of a task of which only the low half is known.
func Whole(low uint32, last uint64) uint64 { return whole(low, last) }

// Doing says what a goroutine does that holds a loop.
func Doing(s goinspect.Stack) (how, advice string) { return doing(s) }

// WaitOutside says of a task that its wait has another ctx than the scope that it opened last.
func (t *Task) WaitOutside() { t.outer = true }

// Swallows advises for a task that goes on after it was cancelled.
func Swallows(s goinspect.Stack) string { return swallows(s) }

// PlaceOf returns where in the memory of the program's only loop a task with the
// given name has its number, and where its count of switches stands.
func (t *Target) PlaceOf(name string) (number, switches uint64) {
	loops, _ := t.layouts[0].loops(t.program)
	r := reader{program: t.program, layout: &t.layouts[0], at: loops[0], portion: portion, budget: new(budget)}
	if _, ok := r.once(); ok {
		for _, s := range r.tasks { // one portion is all of them
			if s.info.Name == name {
				number = s.addr + uint64(r.size(layout.TaskID))
				switches = s.task.uint64(layout.TaskWorker) + uint64(r.size(layout.WorkerSwitches))
			}
		}
	}
	return number, switches
}

// WordsOf returns where in memory the words stand that say what the first task with a name does,
// and where it stands itself.
func (t *Target) WordsOf(name string) (task uint64, words map[string]uint64) {
	loops, _ := t.layouts[0].loops(t.program)
	for _, at := range loops {
		r := reader{program: t.program, layout: &t.layouts[0], at: at, portion: portion, budget: new(budget)}
		if _, ok := r.once(); !ok {
			continue
		}
		for _, s := range r.tasks { // one portion is all of them
			if s.info.Name == name {
				return s.addr, r.wordsOf(s)
			}
		}
	}
	return 0, nil
}

func (r *reader) wordsOf(s *seen) map[string]uint64 {
	worker, list, selection := s.task.uint64(layout.TaskWorker), uint64(0), uint64(0)
	if s.worker.b != nil {
		list, selection = s.worker.uint64(layout.WorkerList), s.worker.uint64(layout.WorkerSelection)
	}
	_, thing := s.list.pair(layout.ListOf)
	lock := thing - uint64(r.size(layout.ReadwriteName)) // if it waits for an RWMutex
	rest := r.one(s.task.uint64(layout.TaskOwner), layout.ScopeSize).uint64(layout.ScopeRest)
	at := func(record uint64, offset int) uint64 { return record + uint64(r.size(offset)) }
	return map[string]uint64{
		"number": at(s.addr, layout.TaskID), "state": at(s.addr, layout.TaskState), "worker": at(s.addr, layout.TaskWorker),
		"scope": at(s.addr, layout.TaskOwner), "next": at(s.addr, layout.TaskNext), "previous": at(s.addr, layout.TaskPrev),
		"job": at(worker, layout.WorkerJob), "switches": at(worker, layout.WorkerSwitches), "list": at(worker, layout.WorkerList),
		"what": at(worker, layout.WorkerWhat), "length of what": at(worker, layout.WorkerWhat) + 8, "on": at(worker, layout.WorkerOn),
		"since": at(worker, layout.WorkerSince), "inner": at(worker, layout.WorkerInner), "owner": at(list, layout.ListOwner),
		"readers": at(lock, layout.ReadwriteReaders), "writing": at(lock, layout.ReadwriteWriting), "writer": at(lock, layout.ReadwriteWriter),
		"head": at(lock, layout.ReadwriteHead), "next run": at(list-uint64(r.size(layout.RunList)), layout.RunNext),
		"thing": thing, "selection": at(worker, layout.WorkerSelection), "places": at(selection, layout.SelectionPlaces),
		"count of places": at(selection, layout.SelectionPlaces) + 8, "timer": at(selection, layout.SelectionTimer),
		"limit": at(rest, layout.RestLimit), "held": at(rest, layout.RestHeld), "count of held": at(rest, layout.RestHeld) + 8,
	}
}

// Renames returns how far behind a task's name the count of its names stands.
func (t *Target) Renames() uint64 {
	of := t.layouts[0].offsets
	return uint64(of[layout.ExtraRenames] - of[layout.ExtraName])
}

// Holds reports whether a file is Rondo's, if its source is in the given folder.
func Holds(home, file string) bool { return (&offsets{home: home}).holds(file) }

// A Ring is where a task of the program's only loop stands, and how far into it the
// number, the links to its neighbours, its state, and its worker and function.
type Ring struct{ Start, Number, Next, Prev, State, Worker, Func uint64 }

// RingOf returns the ring of the program's tasks.
func (t *Target) RingOf() Ring {
	loops, _ := t.layouts[0].loops(t.program)
	r := reader{program: t.program, layout: &t.layouts[0], at: loops[0]}
	size := func(i int) uint64 { return uint64(r.size(i)) }
	return Ring{r.one(r.at, layout.LoopSize).uint64(layout.LoopTasks), size(layout.TaskID), size(layout.TaskNext), size(layout.TaskPrev), size(layout.TaskState), size(layout.TaskWorker), size(layout.TaskFn)}
}

// InLoop returns where the program's only loop has what an offset of package layout leads to.
func (t *Target) InLoop(offset int) uint64 {
	loops, _ := t.layouts[0].loops(t.program)
	return loops[0] + uint64(t.layouts[0].offsets[offset])
}

// Home returns the folder of Rondo's source, as the program says.
func (t *Target) Home() string { return t.layouts[0].home }

// AskGoroutines lists the goroutines of the calling program as on systems where it cannot be read
// like another.
func (p *Program) AskGoroutines() { p.askGoroutines() }

// Tangled returns the tasks of some loops that wait for each other.
func Tangled(loops ...*Loop) [][]TaskID {
	cycles, _ := tangles(loops, nil)
	return (&Program{Loops: loops}).ids(cycles)
}

// Across is Tangled for cycles that go through several loops only.
func Across(loops ...*Loop) [][]TaskID {
	p := &Program{Loops: loops}
	return p.ids(p.rings(nil))
}

// SortLoops puts the loops in order.
func (p *Program) SortLoops() { p.sortLoops() }

// MostPage is how many bytes a page has at most.
const MostPage = mostPage

// Page returns the page of a snapshot that Handler serves for a query.
func Page(p *Program, query string) (string, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	v := newView(p, pageChoiceOf(q))
	v.Charts = Charts(301, 1234567)
	err = page.Execute(&out, v)
	return out.String(), err
}

// FlightSteps returns the steps of a record up to now.
func FlightSteps(r *flight.Record, now flight.Mark) []FlightStep {
	return slices.Collect(flown{Record: r}.steps(now, 0))
}

// KeepMatching drops the tasks that do not match.
func KeepMatching(p *Program, filter string) { keepMatching(p, filter, mostJSON) }

// Policy is what the page may do in a browser.
var Policy = policy

// Charts returns the charts of a program that was looked at so often, a second apart, each time
// with so many tasks more.
func Charts(looks, tasks int) []chart {
	var k past
	for i := range looks {
		at := time.Unix(1_800_000_000+int64(i), 0)
		k.add(&Program{Taken: at, Loops: []*Loop{{Busy: time.Duration(i) * time.Second / 4, Lag: 1500 * time.Microsecond, Ready: i % 7, Omitted: tasks * i}}})
		k.add(&Program{Taken: at.Add(time.Millisecond), Loops: []*Loop{{Omitted: 1 << 40}}}) // too soon
	}
	return k.charts()
}

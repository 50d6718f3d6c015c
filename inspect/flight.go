package inspect

// The flight record of a program's loops, read from outside: which tasks ran last, when, and who
// woke them. The loops keep it for themselves (internal/flight), and the program takes no part in
// reading it.
//
// The law: what the loop may have written over while it was copied is dropped. A loop reads the
// clock rarely, so only the times of marks are exact: steps between two of them share that time
// equally. Since when a task was ready follows from the length of the run queue at each mark.

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo/internal/flight"
	"github.com/rondo-go/rondo/internal/layout"
)

// Flight returns what the tasks did in the time before the call: as much of it as each loop's
// record has, which is 65,536 steps and 8,192 looks at the clock. A loop that is younger than
// 100 ms and has switched less than 1,000 times has none, nor has one with
// Runner.NoFlightRecorder; Lost says so. It costs the program nothing, and takes as long as a
// Snapshot. The errors are those of Snapshot.
func (t *Target) Flight(last time.Duration) (*Flight, error) {
	f := new(Flight)
	if _, err := t.Snapshot(Options{MaxTasks: mostRead, MaxTime: mostTime, flight: f, flightFor: last}); err != nil {
		return nil, err
	}
	slices.SortFunc(f.Loops, func(a, b FlightLoop) int { return cmp.Compare(a.ID, b.ID) })
	return f, nil
}

// allOfIt is longer ago than what any flight record has.
const allOfIt = 1_000_000 * time.Hour

var errNoFlight = errors.New("the flight record of this program cannot be read: that needs Linux, on amd64 or arm64")

// writeFlight writes, as JSON, what the tasks of the calling program did in the time before, which
// is given as text; without it, as far back as there is a record.
func writeFlight(w io.Writer, last string) error {
	long, err := allOfIt, error(nil)
	if last != "" {
		long, err = time.ParseDuration(last)
	}
	if err != nil || long <= 0 {
		return badQuery(fmt.Sprintf("last is a time above 0, such as 10s, not %q", clip(last)))
	}
	target := openSelf()
	if target == nil {
		return errNoFlight
	}
	defer self.Unlock()
	f, err := target.Flight(long)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(f)
}

// flight returns what the tasks of the loop did, of which a snapshot was taken.
func (r *reader) flight(known *Loop, last time.Duration) FlightLoop {
	l := FlightLoop{ID: known.ID, Name: known.Name}
	head, ok := r.head()
	if !ok || head.uint64(layout.LoopSerial) != l.ID {
		l.Lost = "it has ended"
		return l
	}
	record, lost := r.record(head)
	if l.Lost = lost; lost != "" {
		return l
	}
	after, ok := r.head()
	if !ok || after.uint64(layout.LoopSerial) != l.ID {
		l.Lost = "it has ended"
		return l
	}
	now := flight.Mark{At: r.now, Ran: uint32(record.Ran), Taken: uint32(after.uint64(layout.LoopSteps)), Task: uint32(r.running(after))}
	epoch, last64 := time.Duration(head.uint64(layout.LoopEpoch)), after.uint64(layout.LoopSpawned)
	last = min(last, allOfIt)
	// What ran as long again before that may have woken a task.
	for step := range record.steps(now, r.now-2*int64(last)) {
		if step.To < time.Duration(r.now)-last {
			continue
		}
		step.Task, step.By = whole(uint32(step.Task), last64), whole(uint32(step.By), last64)
		step.From, step.To = step.From+epoch, step.To+epoch
		l.Steps = append(l.Steps, step)
	}
	nameSteps(r, known, record, l.Steps)
	return l
}

// running returns the number of the running task, or flight.Asleep.
func (r *reader) running(head record) uint64 {
	if at := head.uint64(layout.LoopCurrent); at != 0 {
		if t := r.one(at, layout.TaskSize); t.b != nil {
			return t.uint64(layout.TaskID)
		}
	}
	return flight.Asleep
}

// A flown record is the copy of one, without what may have been written over meanwhile.
type flown struct {
	*flight.Record
	firstStep, firstMark, firstStart uint64
}

// record copies the record of the loop, or says why there is none.
func (r *reader) record(head record) (flown, string) {
	if !head.has(layout.LoopFlight) {
		return flown{}, "its Rondo is older than the flight recorder"
	}
	at := head.uint64(layout.LoopFlight)
	if at == 0 {
		return flown{}, "it has no flight record: it is younger than 100 ms, simulated, or has NoFlightRecorder"
	}
	f := flown{Record: new(flight.Record)}
	var later flight.Head
	if r.program.Memory().Read(at, f.Bytes()) != nil || r.program.Memory().Read(at, later.Bytes()) != nil {
		return flown{}, "its flight record cannot be read"
	}
	if f.Format != flight.Format || later.Format != flight.Format || later.Ran < f.Ran {
		return flown{}, "its flight record is of another version of Rondo: use the rondo that belongs to it"
	}
	first := func(n, size uint64) uint64 { return max(n, size-1) - (size - 1) }
	f.firstStep, f.firstMark, f.firstStart = first(later.Ran, flight.Steps), first(later.Marked, flight.Marks), first(later.Began, flight.Starts)
	return f, ""
}

// A moment is a mark in a row of others, with its counts since the first of them.
type moment struct {
	flight.Mark
	ran   uint64 // how many steps there had been, in all
	taken uint64 // entries of the run queue
	known uint64 // and those that were in it, together
}

// moments returns the marks, and now as the last one.
func (f flown) moments(now flight.Mark) (out []moment) {
	for n := f.firstMark; n <= f.Marked; n++ {
		m := now
		if n < f.Marked {
			m = f.Marks[n%flight.Marks]
		}
		one := moment{Mark: m, ran: f.Ran + uint64(int64(int32(m.Ran-uint32(f.Ran))))}
		if len(out) > 0 {
			before := out[len(out)-1]
			one.taken = before.taken + uint64(m.Taken-before.Taken)
		}
		one.known = one.taken + uint64(m.Ready)
		out = append(out, one)
	}
	return out
}

// steps gives the steps up to now, with the low halves of the tasks' numbers, but for those that
// were over before a time.
func (f flown) steps(now flight.Mark, from int64) func(yield func(FlightStep) bool) {
	return func(yield func(FlightStep) bool) {
		w := waking{marks: f.moments(now), latest: make(map[uint64]FlightStep)}
		for i := 1; i < len(w.marks); i++ {
			if w.marks[i].At >= from && !f.between(&w, i, yield) {
				return
			}
		}
	}
}

// between gives the steps between a mark and the one before. Without a step, the task of the mark
// went on.
func (f flown) between(w *waking, i int, yield func(FlightStep) bool) bool {
	from, to := w.marks[i-1], w.marks[i]
	n := to.ran - from.ran
	if to.At <= from.At || from.ran < f.firstStep || to.ran < from.ran || n > flight.Steps || n == 0 && from.Task == flight.Asleep {
		return true
	}
	if n == 0 {
		return to.Task == 0 || to.Task == flight.Asleep ||
			yield(FlightStep{Task: uint64(to.Task), From: time.Duration(from.At), To: time.Duration(to.At)})
	}
	each, taken := float64(to.At-from.At)/float64(n), max(to.taken-from.taken, 1)
	for k := range n {
		s := f.Steps[(from.ran+k)%flight.Steps]
		step := FlightStep{Task: uint64(s.Task), By: uint64(s.By), Woken: true}
		step.From = time.Duration(from.At) + time.Duration(each*float64(k))
		step.To = time.Duration(from.At) + time.Duration(each*float64(k+1))
		step.Ready = w.ready(step, i-1, from.taken+((k+1)*taken+n-1)/n)
		w.latest[step.Task] = step
		if !yield(step) {
			return false
		}
	}
	return true
}

// A waking says since when tasks were ready.
type waking struct {
	marks  []moment
	first  int                   // the mark at which the entry was in the run queue that was asked for last
	latest map[uint64]FlightStep // of each task
}

// ready returns how long the task of a step could have run before. The step comes after the mark
// i, and is of the entry of the run queue that was taken as the n-th since the first mark.
func (w *waking) ready(s FlightStep, i int, n uint64) time.Duration {
	for w.first < i && w.marks[w.first].known < n {
		w.first++
	}
	first := w.marks[w.first]
	earliest, latest := time.Duration(first.At), s.From
	if first.known >= n {
		if latest = earliest; s.By != 0 && w.first > 0 {
			earliest = time.Duration(w.marks[w.first-1].At)
		}
	}
	if by, ok := w.latest[s.By]; ok && s.By != 0 {
		earliest = max(earliest, by.From)
		if by.To > earliest { // else it went on after the mark
			latest = min(latest, by.To)
		}
	}
	return max(0, s.From-(max(earliest, latest)+earliest)/2)
}

// mostNames is how many names of the tasks of a function are kinds of their own.
const mostNames = 8

// nameSteps gives each step the name and the kind of its task: as the loop names it, or by the
// function that it began with if it has ended.
func nameSteps(r *reader, l *Loop, f flown, steps []FlightStep) {
	began := make(map[uint64]uint64)
	for n := f.firstStart; n < f.Began; n++ {
		if s := f.Starts[n%flight.Starts]; s.Task != 0 {
			began[s.Task] = s.Entry
		}
	}
	type called struct{ name, function string }
	tasks, names := make(map[uint64]called), make(map[string]map[string]bool)
	for _, s := range steps {
		if _, ok := tasks[s.Task]; ok {
			continue
		}
		c := called{function: "(unknown)"}
		if name, function, ok := l.called(s.Task); ok {
			if c.function = shortFunc(function); !isUnnamed(s.Task, name) {
				c.name = name
			}
		} else if entry, ok := began[s.Task]; ok {
			c.function = shortFunc(r.program.Func(entry).Func)
		}
		tasks[s.Task] = c
		if names[c.function] == nil {
			names[c.function] = make(map[string]bool)
		}
		names[c.function][c.name] = true
	}
	for i := range steps {
		s := &steps[i]
		c := tasks[s.Task]
		s.Kind = c.function
		if len(names[c.function]) <= mostNames {
			s.Kind = cmp.Or(c.name, c.function)
		}
		s.Name = cmp.Or(c.name, c.function) + " #" + strconv.FormatUint(s.Task, 10)
	}
}

// isUnnamed reports whether the program has not given the task its name.
func isUnnamed(id uint64, name string) bool {
	return name == "" || string(appendUnnamed(make([]byte, 0, 32), id)) == name
}

// shortFunc is a function without the path of its package.
func shortFunc(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// A traceEvent is one of the trace event format, which ui.perfetto.dev opens.
type traceEvent struct {
	Phase string            `json:"ph"`
	Pid   uint64            `json:"pid"`
	Tid   uint64            `json:"tid"`
	At    float64           `json:"ts"` // microseconds
	Long  float64           `json:"dur,omitempty"`
	Name  string            `json:"name"`
	Kind  string            `json:"cat,omitempty"`
	ID    int               `json:"id,omitempty"`
	Bind  string            `json:"bp,omitempty"`
	Args  map[string]string `json:"args,omitempty"`
}

// WriteTrace writes the flight as a timeline for https://ui.perfetto.dev: a loop is a process of
// it, a task a thread, a step a slice, and a wake-up an arrow from the task that caused it. An
// error is that of w.
func (f *Flight) WriteTrace(w io.Writer) error {
	out := bufio.NewWriter(w)
	first, start := true, f.start()
	write := func(e traceEvent) {
		text, err := json.Marshal(e)
		if err != nil {
			panic(err) // its fields are texts and numbers
		}
		if !first {
			_ = out.WriteByte(',')
		}
		first = false
		_ = out.WriteByte('\n')
		_, _ = out.Write(text)
	}
	_ = out.WriteByte('[')
	flows := 0
	for _, l := range f.Loops {
		write(traceEvent{Phase: "M", Pid: l.ID, Name: "process_name", Args: map[string]string{"name": l.Name}})
		latest := make(map[uint64]FlightStep)
		for _, s := range l.Steps {
			if _, known := latest[s.Task]; !known {
				write(traceEvent{Phase: "M", Pid: l.ID, Tid: s.Task, Name: "thread_name", Args: map[string]string{"name": s.Name}})
			}
			at := micros(s.From - start)
			write(traceEvent{Phase: "X", Pid: l.ID, Tid: s.Task, At: at, Long: micros(s.To - s.From), Name: s.Name})
			if by, known := latest[s.By]; known && s.Woken && s.By != 0 {
				flows++
				// An arrow begins within a slice, so just before its end.
				write(traceEvent{Phase: "s", Pid: l.ID, Tid: s.By, At: micros(by.To-start) - 0.001, Name: "wakes", Kind: "wake", ID: flows})
				write(traceEvent{Phase: "f", Bind: "e", Pid: l.ID, Tid: s.Task, At: at, Name: "wakes", Kind: "wake", ID: flows})
			}
			latest[s.Task] = s
		}
	}
	_, _ = out.WriteString("\n]\n")
	return out.Flush()
}

// start is when the first step began.
func (f *Flight) start() time.Duration {
	start := time.Duration(1<<63 - 1)
	for _, l := range f.Loops {
		if len(l.Steps) > 0 {
			start = min(start, l.Steps[0].From)
		}
	}
	return start
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

package inspect

// The flight record of a program's loops, read from outside: which tasks ran last, when, and who
// woke them. The loops keep it for themselves (internal/flight), and the program takes no part in
// reading it.
//
// The law: what the loop may have written over while it was copied is dropped. A loop reads the
// clock rarely, so only the times of marks are exact: steps between two of them share that time
// equally.

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

// A Flight is what the tasks of a program did last.
type Flight struct {
	Loops []FlightLoop
}

// A FlightLoop is what those of one loop did. Steps are in the order in which they ran.
type FlightLoop struct {
	ID    uint64
	Name  string
	Steps []FlightStep
	Lost  string // why there are no steps, in a sentence; else ""
}

// A FlightStep is the time from when a task ran after a wait, or for the first time, to when
// another one did or the loop slept. Several steps may share a time that is known, equally. What a
// task did between two of its Yields belongs to its step, and so do callbacks.
type FlightStep struct {
	Task  uint64 // its number; 0 if that is not known
	Name  string // its name, or its function and number
	From  time.Duration
	To    time.Duration // both by the system's monotonic clock
	Woken bool          // it was started, or its wait ended, before this step
	By    uint64        // the task that did that; 0 if a timer, a callback or the world did
}

// Flight returns what the tasks did in the time before the call: as much of it as each loop's
// record has, which is 65,536 steps and 8,192 looks at the clock. A loop that is younger than
// 100 ms and has switched less than 1,000 times has none, nor has one with
// Runner.NoFlightRecorder; Lost says so. It costs the program nothing, and takes as long as a
// Snapshot. The errors are those of Snapshot.
func (t *Target) Flight(last time.Duration) (*Flight, error) {
	p, err := t.Snapshot(Options{MaxTasks: mostRead, MaxTime: mostTime})
	if err != nil {
		return nil, err
	}
	named := make(map[uint64]*Loop)
	for _, l := range p.Loops {
		named[l.ID] = l
	}
	var f *Flight
	err = t.read(func() error {
		f = &Flight{Loops: []FlightLoop{}}
		for i := range t.layouts {
			loops, ok := t.layouts[i].loops(t.program)
			if !ok {
				return t.gone()
			}
			for _, at := range loops {
				r := reader{program: t.program, layout: &t.layouts[i], at: at, live: t.pid != 0}
				if l, ok := r.flight(named, last); ok {
					f.Loops = append(f.Loops, l)
				}
			}
		}
		return t.check()
	})
	slices.SortFunc(f.Loops, func(a, b FlightLoop) int { return int(a.ID) - int(b.ID) })
	return f, err
}

// writeFlight writes, as JSON, what the tasks of the calling program did in the time before, which
// is given as text; without it, as far back as there is a record.
func writeFlight(w io.Writer, last string) error {
	long, err := time.ParseDuration(cmp.Or(last, "1000000h"))
	if err != nil || long <= 0 {
		return fmt.Errorf("last is a time above 0, such as 10s, not %q", clip(last))
	}
	target := openSelf()
	if target == nil {
		return errors.New("the flight record of this program cannot be read: that needs Linux, on amd64 or arm64")
	}
	defer self.Unlock()
	f, err := target.Flight(long)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(f)
}

// flight returns what the tasks of the loop did. It reports whether there is such a loop.
func (r *reader) flight(loops map[uint64]*Loop, last time.Duration) (FlightLoop, bool) {
	head, ok := r.head()
	if !ok {
		return FlightLoop{}, false
	}
	l := FlightLoop{ID: head.uint64(layout.LoopSerial), Name: "loop"}
	known := loops[l.ID]
	if known != nil {
		l.Name = known.Name
	}
	record, lost := r.record(head)
	if l.Lost = lost; lost != "" {
		return l, true
	}
	after, ok := r.head()
	if !ok || after.uint64(layout.LoopSerial) != l.ID {
		return FlightLoop{}, false
	}
	now := flight.Mark{Ran: record.Ran, At: r.now, Task: r.running(after)}
	epoch := time.Duration(head.uint64(layout.LoopEpoch))
	names := namesOf(r, known, record, after.uint64(layout.LoopSpawned))
	for step := range record.steps(now) {
		step.Task, step.By = whole(uint32(step.Task), after.uint64(layout.LoopSpawned)), whole(uint32(step.By), after.uint64(layout.LoopSpawned))
		if step.To < time.Duration(r.now)-last {
			continue
		}
		step.From, step.To, step.Name = step.From+epoch, step.To+epoch, names(step.Task)
		l.Steps = append(l.Steps, step)
	}
	return l, true
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

// steps gives the steps up to now, with the low halves of the tasks' numbers.
func (f flown) steps(now flight.Mark) func(yield func(FlightStep) bool) {
	return func(yield func(FlightStep) bool) {
		var from flight.Mark
		for n := f.firstMark; n <= f.Marked; n++ {
			to := now
			if n < f.Marked {
				to = f.Marks[n%flight.Marks]
			}
			if n > f.firstMark && !f.between(from, to, yield) {
				return
			}
			from = to
		}
	}
}

// between gives the steps between two marks. Without a step, the task of the second mark went on.
func (f flown) between(from, to flight.Mark, yield func(FlightStep) bool) bool {
	n := to.Ran - from.Ran
	if to.At <= from.At || from.Ran < f.firstStep || to.Ran < from.Ran || n > flight.Steps || n == 0 && from.Task == flight.Asleep {
		return true
	}
	if n == 0 {
		return to.Task == 0 || to.Task == flight.Asleep ||
			yield(FlightStep{Task: to.Task, From: time.Duration(from.At), To: time.Duration(to.At)})
	}
	each := float64(to.At-from.At) / float64(n)
	for i := range n {
		s := f.Steps[(from.Ran+i)%flight.Steps]
		step := FlightStep{Task: uint64(s.Task), By: uint64(s.By), Woken: true}
		step.From = time.Duration(from.At) + time.Duration(each*float64(i))
		step.To = time.Duration(from.At) + time.Duration(each*float64(i+1))
		if !yield(step) {
			return false
		}
	}
	return true
}

// namesOf returns a function that names a task: as the loop does, or by the function that it began
// with if it has ended.
func namesOf(r *reader, l *Loop, f flown, last uint64) func(id uint64) string {
	names := make(map[uint64]string)
	for n := f.firstStart; n < f.Began; n++ {
		s := f.Starts[n%flight.Starts]
		if s.Task != 0 && s.Task <= last {
			names[s.Task] = fmt.Sprintf("%s #%d", shortFunc(r.program.Func(s.Entry).Func), s.Task)
		}
	}
	if l != nil {
		for _, t := range l.Tasks {
			names[t.ID] = strings.TrimSpace(fmt.Sprintf("%s #%d", cmp.Or(t.Name, shortFunc(t.Func)), t.ID))
		}
	}
	return func(id uint64) string {
		if names[id] == "" {
			names[id] = "task #" + strconv.FormatUint(id, 10)
		}
		return names[id]
	}
}

// shortFunc is a function without the path of its package.
func shortFunc(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// Count returns how many steps there are, and how many tasks took them.
func (l *FlightLoop) Count() (steps, tasks int) {
	seen := make(map[uint64]bool)
	for _, s := range l.Steps {
		seen[s.Task] = true
	}
	return len(l.Steps), len(seen)
}

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

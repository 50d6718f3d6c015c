package inspect

// Snapshots as JSON, written and read. The form is in
// schema.json, and a test holds this file to it. Tasks that stand at the same calls
// share a stack: stacks, their calls and the functions that tasks run are in tables,
// by their numbers from 0.

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"strings"
)

// FormatVersion is the version of the form in which WriteJSON writes snapshots. It
// grows when something changes its meaning or is taken away; new fields may come at
// any time.
const FormatVersion = 1

// A document is a snapshot as it is written.
type document struct {
	Version int   `json:"version"`
	Units   units `json:"units"`
	*Program
	Functions []string `json:"functions"`
	Frames    []Frame  `json:"frames"`
	Stacks    [][]int  `json:"stacks"`

	Goroutines []goroutineDocument `json:"goroutines,omitempty"`
	Loops      []loopDocument      `json:"loops"`
}

// units are those of all numbers that have one.
type units struct {
	Time string `json:"time"` // of all durations
}

type loopDocument struct {
	*Loop
	Held  *heldDocument  `json:"held,omitempty"`
	Tasks []taskDocument `json:"tasks"`
}

type goroutineDocument struct {
	*Goroutine
	Site  *int `json:"site,omitempty"` // a frame
	Stack *int `json:"stack,omitempty"`
}

type heldDocument struct {
	*Held
	Stack *int `json:"stack,omitempty"`
}

// A taskDocument has no name if that is the one of a task without a name, and its
// waiting does not begin with what it waits for. For a sleep it is left out if it says
// what due says. Its parent is left out if that is the owner's host, as for most tasks.
type taskDocument struct {
	*Task
	Name    string     `json:"name,omitempty"`
	Func    int        `json:"func"`
	Waiting string     `json:"waiting,omitempty"`
	Owner   *[2]uint64 `json:"owner,omitempty"` // the host and the depth
	Parent  *uint64    `json:"parent,omitempty"`
	Site    *int       `json:"site,omitempty"` // a frame
	Stack   *int       `json:"stack,omitempty"`
	Outer   bool       `json:"outer,omitempty"`

	Offload *goroutineDocument `json:"offload,omitempty"`
}

func (t *tables) task(task *Task) taskDocument {
	d := taskDocument{Task: task, Func: t.functions[task.Func], Waiting: task.Waiting, Stack: t.number(task.Stack), Outer: task.outer}
	if task.Name != unnamed(task.ID) {
		d.Name = task.Name
	}
	if rest, ok := strings.CutPrefix(task.Waiting, task.What); ok && task.What != "" {
		d.Waiting = strings.TrimPrefix(rest, " ")
	}
	if task.What == "sleep" && d.Waiting == sleepsFor(task) {
		d.Waiting = ""
	}
	host := uint64(0)
	if o := task.Owner; o != nil {
		d.Owner, host = &[2]uint64{o.Host, uint64(o.Depth)}, o.Host
	}
	if task.Parent != host {
		d.Parent = &task.Parent
	}
	if task.Site != nil {
		n := t.frame(*task.Site)
		d.Site = &n
	}
	if task.Offload != nil {
		g := t.goroutine(task.Offload)
		d.Offload = &g
	}
	return d
}

func (t *tables) goroutine(g *Goroutine) goroutineDocument {
	d := goroutineDocument{Goroutine: g, Stack: t.number(g.Stack)}
	if g.Site != nil {
		n := t.frame(*g.Site)
		d.Site = &n
	}
	return d
}

// sleepsFor says how long a task that sleeps goes on to do so.
func sleepsFor(t *Task) string {
	switch {
	case t.Due < 0:
		return short(-t.Due) + " late"
	case t.Due == 0:
		return ""
	}
	return short(t.Due)
}

// read returns the task as it was before it was written.
func (d taskDocument) read() *Task {
	t := d.Task
	t.outer = d.Outer
	if t.Name = d.Name; t.Name == "" {
		t.Name = unnamed(t.ID)
	}
	if t.What == "sleep" && d.Waiting == "" {
		d.Waiting = sleepsFor(t)
	}
	t.Waiting = strings.TrimSuffix(t.What+" "+d.Waiting, " ")
	if t.What == "" {
		t.Waiting = d.Waiting
	}
	t.Parent = 0
	if o := d.Owner; o != nil {
		t.Owner, t.Parent = &ScopeID{o[0], int(o[1])}, o[0]
	}
	if d.Parent != nil {
		t.Parent = *d.Parent
	}
	return t
}

// tables number the stacks of a snapshot, their calls and the functions of tasks.
type tables struct {
	functions map[string]int
	names     []string
	frames    []Frame
	stacks    [][]int
	byFrame   map[Frame]int
	byStack   map[string]int // by the numbers of its calls
	byMemory  map[*Frame]int // by where it stands
}

// number returns the number of a stack; nil if it is empty.
func (t *tables) number(stack []Frame) *int {
	if len(stack) == 0 {
		return nil
	}
	n, ok := t.byMemory[&stack[0]]
	if ok && len(t.stacks[n]) == len(stack) {
		return &n
	}
	calls := make([]int, len(stack))
	key := make([]byte, 0, 4*len(stack))
	for i, f := range stack {
		k := t.frame(f)
		calls[i], key = k, binary.LittleEndian.AppendUint32(key, uint32(k))
	}
	if n, ok = t.byStack[string(key)]; !ok {
		n = len(t.stacks)
		t.byStack[string(key)], t.stacks = n, append(t.stacks, calls)
	}
	t.byMemory[&stack[0]] = n
	return &n
}

// frame returns the number of a call.
func (t *tables) frame(f Frame) int {
	k, ok := t.byFrame[f]
	if !ok {
		k = len(t.frames)
		t.byFrame[f], t.frames = k, append(t.frames, f)
	}
	return k
}

// WriteJSON writes the snapshot as JSON: one task a line. Errors are those of w; and it fails if
// the snapshot was taken in a year of five digits, which JSON cannot say.
func (p *Program) WriteJSON(w io.Writer) error {
	t := tables{functions: make(map[string]int), byFrame: make(map[Frame]int), byStack: make(map[string]int), byMemory: make(map[*Frame]int)}
	for _, l := range p.Loops {
		if l.Held != nil {
			t.number(l.Held.Stack)
		}
		for _, task := range l.Tasks {
			t.number(task.Stack)
			if task.Site != nil {
				t.frame(*task.Site)
			}
			if task.Offload != nil {
				t.goroutine(task.Offload)
			}
			if _, ok := t.functions[task.Func]; !ok {
				t.functions[task.Func] = len(t.names)
				t.names = append(t.names, task.Func)
			}
		}
	}
	for _, g := range p.Goroutines {
		t.goroutine(g)
	}
	e := elements{out: bufio.NewWriter(w)}
	head := document{Version: FormatVersion, Units: units{"ns"}, Program: p}
	e.open(head, "functions", "frames", "stacks", "loops")
	e.list("functions", len(t.names), func(i int) any { return t.names[i] })
	e.list("frames", len(t.frames), func(i int) any { return t.frames[i] })
	e.list("stacks", len(t.stacks), func(i int) any { return t.stacks[i] })
	if len(p.Goroutines) > 0 {
		e.list("goroutines", len(p.Goroutines), func(i int) any { return t.goroutine(p.Goroutines[i]) })
	}
	e.begin("loops")
	for _, l := range p.Loops {
		loop := loopDocument{Loop: l}
		if l.Held != nil {
			loop.Held = &heldDocument{l.Held, t.number(l.Held.Stack)}
		}
		e.separate()
		e.open(loop, "tasks")
		e.list("tasks", len(l.Tasks), func(i int) any { return t.task(l.Tasks[i]) })
		e.write("}")
		e.first = false
	}
	e.write("]}\n")
	return errors.Join(e.err, e.out.Flush())
}

// elements writes the parts of a document one by one, so that no text of all of it
// is made.
type elements struct {
	out   *bufio.Writer
	one   bytes.Buffer
	first bool // in its list
	err   error
}

func (e *elements) write(text string) { _, _ = e.out.WriteString(text) }

// encode returns a value as JSON.
func (e *elements) encode(v any) []byte {
	e.one.Reset()
	encoder := json.NewEncoder(&e.one)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil && e.err == nil {
		e.err = err
	}
	return bytes.TrimSuffix(e.one.Bytes(), []byte("\n"))
}

// open writes an object without its end and without its lists of these names, which
// come last in it and are empty.
func (e *elements) open(v any, lists ...string) {
	b := bytes.TrimSuffix(e.encode(v), []byte("}"))
	for i := len(lists) - 1; i >= 0; i-- {
		b = bytes.TrimSuffix(b, []byte(`,"`+lists[i]+`":null`))
	}
	_, _ = e.out.Write(b)
}

// begin begins a list in an object that was opened.
func (e *elements) begin(name string) {
	e.write(",\n\"" + name + "\":[")
	e.first = true
}

func (e *elements) separate() {
	if !e.first {
		e.write(",")
	}
	e.write("\n")
	e.first = false
}

// list writes a list of n elements.
func (e *elements) list(name string, n int, element func(i int) any) {
	e.begin(name)
	for i := range n {
		e.separate()
		_, _ = e.out.Write(e.encode(element(i)))
	}
	e.write("]")
}

// ReadJSON reads a snapshot that WriteJSON has written. It fails if the text is no snapshot, or
// one of a newer version. What no text may have on a terminal is replaced.
func ReadJSON(r io.Reader) (*Program, error) { return readFrom(json.NewDecoder(r)) }

// ReadRecording reads snapshots that WriteJSON has written one after the other. After an
// error, which is that of ReadJSON, there are no more.
func ReadRecording(r io.Reader) iter.Seq2[*Program, error] {
	return func(yield func(*Program, error) bool) {
		for d := json.NewDecoder(r); d.More(); {
			p, err := readFrom(d)
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

func readFrom(decoder *json.Decoder) (*Program, error) {
	var d document
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("not a snapshot: %w", err)
	}
	if d.Version > FormatVersion {
		return nil, fmt.Errorf("the snapshot has the form of version %d, and this tool knows %d: update the tool", d.Version, FormatVersion)
	}
	if d.Version < 1 || d.Program == nil {
		return nil, errors.New("not a snapshot: it has no version")
	}
	makePrintable(reflect.ValueOf(&d))
	r := reading{document: &d, stacks: make([][]Frame, len(d.Stacks))}
	for i, calls := range d.Stacks {
		for _, k := range calls {
			if k < 0 || k >= len(d.Frames) {
				return nil, fmt.Errorf("the snapshot is damaged: a stack has call %d of %d", k, len(d.Frames))
			}
			r.stacks[i] = append(r.stacks[i], d.Frames[k])
		}
	}
	p := d.Program
	for i := range d.Goroutines {
		if g := r.goroutine(&d.Goroutines[i]); g != nil {
			p.Goroutines = append(p.Goroutines, g)
		}
	}
	p.Loops = []*Loop{}
	for _, loop := range d.Loops {
		l, err := r.loop(loop)
		if err != nil {
			return nil, err
		}
		p.Loops = append(p.Loops, l)
	}
	if r.damaged {
		return nil, fmt.Errorf("the snapshot is damaged: a task has a stack, a function or a call that is none of %d, %d and %d", len(r.stacks), len(d.Functions), len(d.Frames))
	}
	return p, nil
}

// A reading is a document that is being read.
type reading struct {
	*document
	stacks  [][]Frame
	damaged bool // a number is of nothing
}

// stack returns the stack with a number, if there is one.
func (r *reading) stack(n *int) []Frame {
	if n == nil {
		return nil
	}
	if *n < 0 || *n >= len(r.stacks) {
		r.damaged = true
		return nil
	}
	return r.stacks[*n]
}

// frame returns the call with a number, if there is one.
func (r *reading) frame(n *int) *Frame {
	if n == nil {
		return nil
	}
	if *n < 0 || *n >= len(r.Frames) {
		r.damaged = true
		return nil
	}
	return &r.Frames[*n]
}

func (r *reading) goroutine(d *goroutineDocument) *Goroutine {
	if d == nil || d.Goroutine == nil {
		return nil
	}
	g := d.Goroutine
	g.Stack, g.Site = r.stack(d.Stack), r.frame(d.Site)
	return g
}

func (r *reading) loop(d loopDocument) (*Loop, error) {
	l := d.Loop
	if l == nil {
		return nil, errors.New("the snapshot is damaged: a loop is empty")
	}
	l.Tasks, l.Held = []*Task{}, nil
	l.Busy = cmp.Or(l.Busy, max(0, l.Uptime-l.Idle)) // an older version has no field for it
	if d.Held != nil && d.Held.Held != nil {
		l.Held = d.Held.Held
		l.Held.Stack = r.stack(d.Held.Stack)
	}
	for _, task := range d.Tasks {
		if task.Task == nil {
			return nil, errors.New("the snapshot is damaged: a task is empty")
		}
		if o := task.Owner; o != nil && o[1] > math.MaxInt32 {
			return nil, fmt.Errorf("the snapshot is damaged: a task is owned by a scope at depth %d", o[1])
		}
		read := task.read()
		read.Stack, read.Site, read.Offload = r.stack(task.Stack), r.frame(task.Site), r.goroutine(task.Offload)
		if r.damaged = r.damaged || task.Func < 0 || task.Func >= len(r.Functions); r.damaged {
			break
		}
		read.Func = r.Functions[task.Func]
		l.Tasks = append(l.Tasks, read)
	}
	// The tree would have no end if a task were its own owner.
	if _, _, differ := l.index(); !differ {
		return nil, errors.New("the snapshot is damaged: two tasks with one number")
	}
	return l, nil
}

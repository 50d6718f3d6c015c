package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
	"github.com/rondo-go/rondo/internal/nocopy"
)

// A Target is a program that is read. It is for one goroutine at a time.
type Target struct {
	_       nocopy.Field
	pid     int // 0 for a core
	name    string
	memory  goinspect.Memory
	program *goinspect.Program // nil until it is found in memory
	layouts []offsets
	retries int
	portion int
}

// OpenProcess opens a live process of a Go program. It does not stop the process, and needs no
// answer from it. It works on Linux. It fails if there is no such process, if permission is
// missing, or if it is not a Go program; the error says what to do. Of one without Rondo only
// goroutines can be read.
func OpenProcess(pid int) (*Target, error) {
	m, err := goinspect.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	return open(m, pid, fmt.Sprintf("process %d", pid))
}

// OpenCore opens a core file. exe is the program's file, or "" if it is where it
// was when the program ran. It fails if the file is not a core of a program of Go, or if
// the program's file is needed and is not the one that ran. Of a program without Rondo only
// goroutines can be read.
func OpenCore(file, exe string) (*Target, error) {
	m, err := goinspect.OpenCore(file, exe)
	if err != nil {
		return nil, err
	}
	return open(m, 0, file)
}

func open(m goinspect.Memory, pid int, name string) (*Target, error) {
	t := &Target{pid: pid, name: name, memory: m, retries: retries, portion: portion}
	err := t.read(func() error { return nil })
	if gone := t.check(); gone != nil {
		err = gone
	}
	if err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

// mostStalls is how often a program is read anew without what has not arrived of its memory.
const mostStalls = 16

// read calls f when the program is found. If the memory does not arrive of which f reads, f is
// called anew, which then lacks that: what f changes must not be of use before f returns.
func (t *Target) read(f func() error) error {
	if again, ok := t.memory.(interface{ Arrived() goinspect.Memory }); ok {
		if m := again.Arrived(); m != t.memory {
			t.memory, t.program = m, nil
		}
	}
	for range mostStalls {
		var err error
		next := goinspect.Watch(t.memory, func() {
			if t.program == nil {
				err = t.find()
			}
			if err == nil {
				err = f()
			}
		})
		if next == t.memory {
			return err
		}
		t.memory, t.program = next, nil
	}
	return fmt.Errorf("%s cannot be read: %s", t.name, t.missing())
}

// missing says in a sentence what of the memory has not arrived; "" if there is no such.
func (t *Target) missing() string {
	if m, ok := t.memory.(interface{ Missing() string }); ok {
		return m.Missing()
	}
	return ""
}

// check returns an error if the process has ended or has become another program
// since it was opened, so that what was read may be of both.
func (t *Target) check() error {
	live, ok := t.memory.(interface{ Check() error })
	if !ok {
		return nil
	}
	switch err := live.Check(); err {
	case nil:
		return nil
	case goinspect.ErrReplaced:
		return endedError{t.pid, true}
	}
	return endedError{t.pid, false}
}

// stopped reports whether the process is stopped.
func (t *Target) stopped() bool {
	live, ok := t.memory.(interface{ Stopped() bool })
	return ok && live.Stopped()
}

// find looks for the program in memory, and for Rondo in it.
func (t *Target) find() error {
	p, err := goinspect.Open(t.memory)
	if errors.Is(err, goinspect.ErrNarrow) {
		return fmt.Errorf("%s cannot be read: it is %w", t.name, err)
	}
	if errors.Is(err, goinspect.ErrNotGo) {
		return fmt.Errorf("%s has no Rondo in it: %w", t.name, err)
	}
	if err != nil {
		return err
	}
	if err := t.findRondo(p); err != nil {
		return err
	}
	t.program = p
	return nil
}

// findRondo looks for Rondo in a program of Go. If there is none, there are no layouts, which is no
// error: the program may have only just started.
func (t *Target) findRondo(p *goinspect.Program) error {
	t.layouts = nil
	newer, damaged := false, false
	for _, at := range p.Search(cookie()) {
		found, ok := readLayout(p, at)
		if !ok {
			continue
		}
		if found.version > layout.Version {
			newer = true
			continue
		}
		if found.damaged {
			damaged = true
			continue
		}
		t.layouts = append(t.layouts, found)
	}
	switch {
	case len(t.layouts) > 0:
		return nil
	case damaged:
		return fmt.Errorf("%s is damaged: the table that says how Rondo's records are laid out is wrong", t.name)
	case newer:
		return fmt.Errorf("%s was built with a newer Rondo than this tool: update the tool", t.name)
	}
	return nil
}

// Close releases the target.
func (t *Target) Close() error { return t.memory.Close() }

// An endedError says that a process has ended, or its program. It is
// os.ErrProcessDone.
type endedError struct {
	pid      int
	replaced bool
}

func (e endedError) Error() string {
	if e.replaced {
		return fmt.Sprintf("process %d runs another program now (exec): open it again", e.pid)
	}
	return fmt.Sprintf("process %d has ended", e.pid)
}

func (e endedError) Is(target error) bool { return target == os.ErrProcessDone }

// Snapshot takes a snapshot. If the process has ended or has become another program,
// also while it was read, the error is os.ErrProcessDone for errors.Is.
func (t *Target) Snapshot(o Options) (p *Program, err error) {
	began := time.Now()
	err = t.read(func() (err error) {
		p, err = t.take(o, began)
		return err
	})
	return p, err
}

// take takes a snapshot for which the time runs since it began.
func (t *Target) take(o Options, began time.Time) (*Program, error) {
	t.program.Forget()
	if o.flight != nil {
		o.flight.Loops = []FlightLoop{}
	}
	if len(t.layouts) == 0 {
		if err := t.findRondo(t.program); err != nil {
			return nil, err
		}
		if len(t.layouts) == 0 && !o.Goroutines {
			return nil, fmt.Errorf("%s has no Rondo in it, or has only just started", t.name)
		}
	}
	p := &Program{PID: t.pid, Go: t.program.Version, Taken: time.Now(), Loops: []*Loop{}}
	left := &budget{options: o, began: began}
	var readers []*reader
	for i := range t.layouts {
		loops, ok := t.layouts[i].loops(t.program)
		if !ok {
			return nil, t.gone()
		}
		for _, at := range loops {
			r := reader{program: t.program, layout: &t.layouts[i], at: at, live: t.pid != 0, options: o, retries: t.retries, portion: t.portion, budget: left}
			if l, ok := r.loop(); ok {
				p.Loops = append(p.Loops, l)
				readers = append(readers, &r)
				if last := max(o.Times, o.flightFor); last > 0 {
					f := r.flight(l, last)
					if o.Times > 0 {
						l.Times = f.Times()
					} else {
						o.flight.Loops = append(o.flight.Loops, f)
					}
				}
			}
		}
	}
	if o.Goroutines {
		t.readGoroutines(p, readers, left)
	}
	p.Rings = p.ids(p.rings(readers))
	p.sortLoops()
	p.Missing = cmp.Or(t.missing(), t.program.Missing())
	if p.Stopped = t.stopped(); p.Stopped {
		for _, l := range p.Loops {
			l.stopped(t.pid)
		}
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	return p, nil
}

// settling is for how many milliseconds a process that cannot be read any more has
// time to end or to become another program.
const settling = 100

func (t *Target) gone() error {
	// A process in the middle of exec cannot be read before it is another program.
	for range settling {
		if err := t.check(); err != nil {
			return err
		}
		if t.pid == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if t.pid != 0 {
		return fmt.Errorf("process %d cannot be read: the list of its loops is not where it was", t.pid)
	}
	return fmt.Errorf("%s is damaged: the list of loops cannot be read", t.name)
}

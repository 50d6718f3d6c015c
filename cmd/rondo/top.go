package main

// The verb top takes snapshots of a process and shows them on a screen.

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/rondo-go/rondo/inspect"
)

const topUsage = `Usage: rondo top [--every D] PID|URL

A live screen of a process that uses Rondo: how busy each loop is and how many
connections it has, and the tasks, those first that the loop spends most time
on. The process is not stopped. If a loop hangs, the screen says so first, with
the task that holds it, and then which tasks wait for each other in a cycle.

  --every D   how often it takes a snapshot, 100ms or more (default 1s); less
              often if a snapshot takes long, as with very many tasks

Keys:

  up down pgup pgdn home end   move; so do k and j
  enter                        show the task's stack; f adds the calls of Rondo
                               and of Go's runtime, esc goes back
  b  s  a  w                   sort by the share of time, switches a second,
                               age, or time spent waiting; the same key again
                               reverses the order
  g                            show the goroutines that run no task, those
                               together that do the same, as rondo tree does; f
                               adds the calls of Go's runtime, g or esc returns
  t                            show for each kind of task how long its steps
                               took and how long it was ready before that, in
                               the last 10 seconds; t or esc goes back
  /                            show tasks whose row contains a text; esc ends it
  left right                   go back and forth in time, by one snapshot, as do
                               h and l; [ and ] go by ten, n goes to the newest.
                               Those of the last 5 minutes are kept, fewer if
                               they have very many tasks: 500,000 in all
  q  Ctrl-C                    quit

NO_COLOR in the environment turns colours off. A URL is one that rondo ps takes.
A process is read on Linux only, with the rights that rondo ps needs.
`

// quickest is the least time between two snapshots.
const quickest = 100 * time.Millisecond

func runTop(c *console, args []string) error {
	l := look{options: options{verb: "top"}}
	every := time.Second
	l.span(&every, "every", 1)
	if err := l.parse(args); err != nil {
		return err
	}
	if every < quickest {
		return usagef("--every takes %v or more, not %v", quickest, every)
	}
	if columns(c.out) == 0 || !term.IsTerminal(int(os.Stdin.Fd())) {
		return fmt.Errorf("this is not a terminal; rondo ps %s writes the tasks once", l.argument())
	}
	t, err := l.open()
	if err != nil {
		return err
	}
	src := &source{target: t}
	_, err = tea.NewProgram(newScreen(l.named(), every, os.Getenv("NO_COLOR") == "", src.take), tea.WithOutput(c.out)).Run()
	if errors.Is(err, tea.ErrInterrupted) {
		err = nil
	}
	if e := src.close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("the screen failed; look at the terminal: %w", err)
	}
	return nil
}

// A source takes snapshots of a target, one at a time. After close it takes none:
// the screen may end while one is being taken.
type source struct {
	mu     sync.Mutex
	target subject // nil after close
}

// A snapshot is a snapshot that was taken, or why there is none.
type snapshot struct {
	picture *inspect.Program
	took    time.Duration
	err     error
	ended   bool // the process has; err says so too
}

// briefFrom is from how many tasks of a loop on they are read in short.
const briefFrom = 50_000

// timesFor is how far back the times of steps go.
const timesFor = 10 * time.Second

// A wish is what the screen shows of a program besides its tasks.
type wish struct {
	task       uint64 // the one whose stack is shown; 0 for none
	times      bool
	goroutines bool
}

// take takes a snapshot with what is wished for.
func (c *source) take(w wish) snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.target == nil {
		return snapshot{}
	}
	o := inspect.Options{Goroutines: w.goroutines, BriefFrom: briefFrom}
	if w.task != 0 {
		o.StacksOf = []uint64{w.task}
	}
	if w.times {
		o.Times = timesFor
	}
	began := time.Now()
	p, err := c.target.Snapshot(o)
	return snapshot{p, time.Since(began), err, errors.Is(err, os.ErrProcessDone)}
}

func (c *source) close() error {
	interrupt(c.target) // what is being taken has the lock
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.target
	c.target = nil
	return t.Close()
}

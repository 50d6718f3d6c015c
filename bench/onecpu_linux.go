package main

// The rows about tasks on one CPU. Rondo, goroutines and tokio each run in a process
// of their own on that CPU, one at a time, so that a garbage collector has no second
// CPU to work on and the heap of one is not that of another.
//
// The parties take turns in short bursts, as the sides of comparison.go do, and the
// fastest burst of a round counts.

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A contest is a row. mine and theirs are what the processes in Go run; tokio has
// the row in rivals/tokio/src/bin/tasks.rs, under the same name.
type contest struct {
	name    string
	what    string
	batches bool // an operation is a batch of tasks; see options
	budget  float64
	why     string
	mine    func(o options) side
	theirs  func(o options) side
}

const (
	whyStacks    = "A tokio task has no stack: 100,000 of them fit in the cache, where as many stacks do not."
	whyGrowing   = "A switch of tasks changes the stack, and tokio's tasks share one. " + whyStacks
	whyCollector = "Tasks, like goroutines, are garbage that Go's collector has to find; it takes a large share of these rows (GOGC=400 shows how much). tokio frees a task when it ends."
)

var contests = []contest{
	{
		name: "one-switch-2", what: "task switch, 2 tasks", mine: turns(2, started), theirs: goschedTurns(2, started),
		why: "Two tasks of tokio switch by a return and a call.",
	},
	{
		name: "one-switch-1000", what: "task switch, 1,000 tasks", mine: turns(1000, started), theirs: goschedTurns(1000, started),
		why: "A switch changes the stack: with 1,000 tasks the next one is not in the nearest cache. tokio's tasks share one stack.",
	},
	{
		name: "one-switch-1000-random", what: "task switch, 1,000 tasks woken in random order", mine: turns(1000, shuffled), theirs: goschedTurns(1000, shuffled),
		why: "As above, and a turn visits memory in no order.",
	},
	{name: "one-spawn", what: "spawn and join one task", budget: 0.70, mine: spawnTask, theirs: spawnGoroutine, why: whyCollector},
	{name: "one-async", what: "Async and wait for its value", budget: 0.85, mine: asyncTask, theirs: goroutineAndBack, why: whyCollector},
	{name: "one-group", what: "100,000 tasks in a group", batches: true, mine: groupTasks, theirs: groupWaitGroup, why: whyCollector},
	{name: "one-sleep", what: "100,000 tasks that sleep 1 ms, to the end", batches: true, mine: sleepTasks, theirs: sleepGoroutines, why: whyStacks},
	{name: "one-burst", what: "100,000 tasks that sleep 0 to 10 ms, to the end", batches: true, budget: 1.2, mine: burstTasks, theirs: burstGoroutines, why: whyStacks},
	{name: "one-event", what: "100,000 tasks on one event, to the end", batches: true, budget: 0.33, mine: eventMany, theirs: channelMany, why: whyStacks},
	{name: "one-notify", what: "notify ping-pong", mine: condTasks, theirs: condGoroutines, why: "Cond takes a Mutex too, tokio's Notify does not."},
	{name: "one-queue", what: "queue ping-pong", mine: queuePingPong, theirs: channelPingPong, why: "Two switches and two operations of a queue: where a switch is slower, so is this."},
}

func oneCPURows() (list []row) {
	for _, c := range contests {
		list = append(list, row{name: c.name, section: oneCPU, why: c.why, run: c.run})
	}
	return list
}

// A party is a process that takes part in a contest.
type party struct {
	label   string
	process *process
	ask     string // the question, without the number of operations
	n       int    // operations in a burst
	costs   []float64
}

func (c contest) run(o options) (found []result, err error) {
	processor, _, err := processors()
	if err != nil {
		return nil, err
	}
	many := 0
	if c.batches {
		many = o.many
	}
	parties := []*party{{label: "Rondo", ask: c.name + " rondo"}, {label: goroutines, ask: c.name + " goroutines"}}
	for _, p := range parties {
		if p.process, err = startSelf(processor, "tasks"); err != nil {
			return nil, err
		}
		defer endWith(p.process, &err)
	}
	program, absent := builtRust(o, tokioCrate, "tasks")
	if absent == nil {
		p := &party{label: tokioThread, ask: c.name}
		if p.process, err = start(processor, program); err != nil {
			return nil, err
		}
		defer endWith(p.process, &err)
		parties = append(parties, p)
	} else if skip := new(skipped); !errors.As(absent, &skip) {
		return nil, absent
	}
	for _, p := range parties {
		if err := p.calibrate(c, o, many); err != nil {
			return nil, fmt.Errorf("%s: %w", p.label, err)
		}
	}
	if err := c.rounds(o, parties, many); err != nil {
		return nil, err
	}
	for _, p := range parties[1:] {
		f := result{What: c.what, Rival: p.label, Unit: "ns", Allowed: unlimited}
		if p.label == goroutines {
			f.Budget = c.budget
		}
		found = append(found, beside(f, parties[0].costs, p.costs))
	}
	return found, absent
}

// rounds lets the parties take turns.
func (c contest) rounds(o options, parties []*party, many int) error {
	bursts := o.bursts
	if c.batches {
		bursts = 1
	}
	for round := range o.rounds {
		best := make([]float64, len(parties))
		for i := range bursts {
			for k := range parties {
				at := (round + i + k) % len(parties)
				took, err := parties[at].burst(many)
				if err != nil {
					return fmt.Errorf("%s: %w", parties[at].label, err)
				}
				if best[at] == 0 || took < best[at] {
					best[at] = took
				}
			}
		}
		for i, p := range parties {
			p.costs = append(p.costs, best[i])
		}
	}
	return nil
}

// calibrate finds how many operations make a burst long enough. A burst that other
// work interrupted seems long, so the shorter of two counts.
func (p *party) calibrate(c contest, o options, many int) error {
	if c.batches {
		p.n = o.batches
		return nil
	}
	for p.n = 1; ; p.n *= 2 {
		first, err := p.burst(many)
		if err != nil {
			return err
		}
		second, err := p.burst(many)
		if err != nil {
			return err
		}
		if time.Duration(min(first, second)*float64(p.n)) >= o.burst {
			return nil
		}
	}
}

// burst returns how many nanoseconds an operation took.
func (p *party) burst(many int) (float64, error) {
	took, err := p.process.number(fmt.Sprintf("%s %d %d", p.ask, p.n, many))
	return took / float64(p.n), err
}

// tasksChild answers "row side operations tasks" with nanoseconds.
func tasksChild(question string) (string, error) {
	var name, who string
	var n int
	o := full()
	if _, err := fmt.Sscan(strings.TrimSpace(question), &name, &who, &n, &o.many); err != nil {
		return "", fmt.Errorf("%q: %w", question, err)
	}
	for _, c := range slices.Concat(contests, growing) {
		if c.name != name {
			continue
		}
		measured := c.mine(o)
		if who == goroutines {
			measured = c.theirs(o)
		}
		runtime.GC()
		began := time.Now()
		m := meter{now: func() (int64, error) { return int64(time.Since(began)), nil }}
		measured(&m, n)
		return strconv.FormatInt(int64(m.took), 10), nil
	}
	return "", fmt.Errorf("no row is called %q", name)
}

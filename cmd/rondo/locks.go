package main

// This file has the verbs locks and check.

import (
	"bufio"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

const locksUsage = `Usage: rondo locks PID
       rondo locks --core FILE [--exe FILE]

It lists the things for which tasks wait: locks, semaphores, queues, events and
other tasks. Each has a row: the task that holds it or can end the wait, if that
is known, what that task does itself, how many wait, and who has waited longest.
A lock for which nobody waits is not listed.

  --core FILE   a core file instead of a process
  --exe FILE    the program of the core, if it is not where it was
  --max-time D, --max-memory MB
                what the picture may take (default 1m, 2000 MB); tasks that it
                then lacks are counted
`

const checkUsage = `Usage: rondo check [--wait D] PID
       rondo check [--wait D] --core FILE [--exe FILE]

It says what looks wrong: a loop that is held, tasks that wait for each other in
a cycle, tasks that wait long for a lock, for permits or for room in a queue,
locks that nobody holds, tasks that call Yield again and again, and tasks whose
steps are long. If there is anything, it exits with status 5.

  --wait D      which waits are long (default 10s)
  --core FILE   a core file instead of a process
  --exe FILE    the program of the core, if it is not where it was
  --max-time D, --max-memory MB
                what the picture may take (default 1m, 2000 MB); tasks that it
                then lacks are counted
`

func runLocks(c *console, args []string) error {
	l := look{options: options{verb: "locks"}}
	l.cores()
	l.bound()
	if err := l.parse(args); err != nil {
		return err
	}
	p, err := l.take(inspect.Options{})
	if err != nil {
		return err
	}
	return l.show(c, p, func(out *bufio.Writer) error {
		writeLoops(out, p, func(l *inspect.Loop) { writeLocks(out, l, columns(c.out)) })
		return nil
	})
}

// writeLocks writes the things for which tasks of a loop wait, in columns.
func writeLocks(out *bufio.Writer, l *inspect.Loop, width int) {
	resources := l.Resources()
	if len(resources) == 0 {
		fmt.Fprintln(out, "No task waits for a lock, a queue or another task.")
		return
	}
	tasks := make(map[uint64]*inspect.Task, len(l.Tasks))
	for _, t := range l.Tasks {
		tasks[t.ID] = t
	}
	name := func(id uint64) string {
		if t := tasks[id]; t != nil {
			return fmt.Sprintf("#%d %s", id, t.Name)
		}
		return fmt.Sprintf("#%d", id)
	}
	rows := [][]string{{"KIND", "NAME", "WAITING", "LONGEST", "WHOSE", "HELD BY", "WHICH"}}
	for _, r := range resources {
		holder, does := "-", "-"
		if r.Holder != 0 {
			holder = name(r.Holder)
			if t := tasks[r.Holder]; t != nil {
				does = t.Doing()
			}
		}
		rows = append(rows, []string{r.Kind, dash(r.Name), count(r.Waiting), short(r.Longest), name(r.First), holder, does})
	}
	writeRows(out, rows, []int{2, 3}, width)
}

// inRing reports whether a task of the loop is in a cycle through several loops.
func inRing(p *inspect.Picture, l *inspect.Loop) bool {
	return slices.ContainsFunc(p.Rings, func(ring []inspect.TaskID) bool {
		return slices.ContainsFunc(ring, func(id inspect.TaskID) bool { return id.Loop == l.Name })
	})
}

func runCheck(c *console, args []string) error {
	l := look{options: options{verb: "check"}}
	wait := 10 * time.Second
	l.span(&wait, "wait", 1)
	l.cores()
	l.bound()
	if err := l.parse(args); err != nil {
		return err
	}
	p, err := l.take(inspect.Options{Stacks: true})
	if err != nil {
		return err
	}
	bad := false
	err = l.show(c, p, func(out *bufio.Writer) error {
		writeLoops(out, p, func(l *inspect.Loop) {
			if err := l.WriteWarnings(out, wait); err != nil {
				return // out says so at its Flush
			}
			switch {
			case len(l.Warnings(wait)) > 0 || l.Held != nil || len(l.Cycles) > 0 || inRing(p, l):
				bad = true
			default:
				fmt.Fprintln(out, "Nothing looks wrong.")
			}
		})
		return nil
	})
	if err == nil && bad {
		return exitStatus(exitWarned)
	}
	return err
}

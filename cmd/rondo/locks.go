package main

// The verbs locks and check.

import (
	"bufio"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

const locksUsage = `Usage: rondo locks PID|URL
       rondo locks --core FILE [--exe FILE]

It lists the things for which tasks wait: locks, semaphores, queues, events and
other tasks. Each has a row: the task that holds it or can end the wait, if that
is known, what that task does itself, how many wait, and who has waited longest.
A lock for which nobody waits is not listed.

  --core FILE   a core file instead of a process
  --exe FILE    the program of the core, if it is not where it was
  --max-time D, --max-memory MB
                what the snapshot may take (default 1m, 2000 MB); tasks that it
                then lacks are counted
`

const checkUsage = `Usage: rondo check [--wait D] PID|URL
       rondo check [--wait D] --core FILE [--exe FILE]

It says what looks wrong: a process that is stopped, a loop that is held, late
or in deadlock, tasks that wait for each other in a cycle, tasks that wait long
for a lock, for permits or for room in a queue, locks whose holder has ended,
tasks that call Yield again and again, and tasks that had long steps in the last
10 s. If there is anything, it exits with status 5. If there is nothing, but not
all could be read, it says so, with status 6.

  --wait D      which waits are long (default 10s)
  --core FILE   a core file instead of a process
  --exe FILE    the program of the core, if it is not where it was
  --max-time D, --max-memory MB
                what the snapshot may take (default 1m, 2000 MB); tasks that it
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
	verdicts := p.Verdicts(wait)
	err = l.show(c, p, func(out *bufio.Writer) error {
		writeLoops(out, p, func(l *inspect.Loop) {
			if err := l.WriteWarnings(out, wait); err != nil {
				return // out says so at its Flush
			}
			switch bad, unread := about(verdicts, l); {
			case bad:
			case unread:
				fmt.Fprintln(out, "Not all of it could be read, so whether something is wrong is not known.")
			default:
				fmt.Fprintln(out, "Nothing looks wrong.")
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	switch bad, unread := about(verdicts, nil); {
	case bad:
		return exitStatus(exitWarned)
	case unread:
		return exitStatus(exitUnread)
	}
	return nil
}

// about reports whether one of the verdicts says that something is wrong with a loop, or with any
// if l is nil, and whether one says that a part could not be read.
func about(verdicts []inspect.Verdict, l *inspect.Loop) (bad, unread bool) {
	for _, v := range verdicts {
		concerns := l == nil || v.Loop == l.Name || v.Loop == "" && len(v.Tasks) == 0 ||
			slices.ContainsFunc(v.Tasks, func(id inspect.TaskID) bool { return id.Loop == l.Name })
		if concerns && v.Kind == inspect.VerdictUnread {
			unread = true
		} else if concerns {
			bad = true
		}
	}
	return bad, unread
}

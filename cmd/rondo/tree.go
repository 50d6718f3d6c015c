package main

// The verb tree.

import (
	"bufio"

	"github.com/rondo-go/rondo/inspect"
)

const treeUsage = `Usage: rondo tree [--full] [--all] [--json] PID|URL
       rondo tree [--full] [--all] [--json] --core FILE [--exe FILE]

It draws the tasks of a live process that uses Rondo, or of a core file, as a
tree: below a task are the scopes it is in, and below each scope the tasks that
it owns. Each task has its stack, the innermost call first, and the stack of the
goroutine that runs its Offload. Goroutines that run no task come last, those
together that do the same; of a program of Go without Rondo there is nothing
else.

  --full        all calls, those of Rondo and of Go's runtime too, and the
                number of the task's goroutine, by which a debugger knows it
  --all         every task, even if many are alike
  --json        everything that is known, as JSON
  --core FILE   a core file instead of a process
  --exe FILE    the program of the core, if it is not where it was
  --max-time D, --max-memory MB
                what the snapshot may take (default 1m, 2000 MB); tasks that it
                then lacks are counted

If tasks wait for each other in a cycle, it names them and exits with status 3,
as it does if a loop is in deadlock; if something holds a loop, with status 4.
Status 1 means that it failed.
`

func runTree(c *console, args []string) error {
	l := look{options: options{verb: "tree"}}
	all := false
	l.flag(&l.full, "full")
	l.flag(&all, "all")
	l.flag(&l.json, "json")
	l.cores()
	l.bound()
	if err := l.parse(args); err != nil {
		return err
	}
	p, err := l.take(inspect.Options{Stacks: true, Goroutines: true})
	if err != nil {
		return err
	}
	err = l.show(c, p, func(out *bufio.Writer) error {
		return p.WriteTree(out, inspect.TreeOptions{Full: l.full, All: all})
	})
	if err != nil {
		return err
	}
	return found(p)
}

// found returns the exit status for what a snapshot shows: nil if all is well.
func found(p *inspect.Program) error {
	if len(p.Rings) > 0 {
		return exitStatus(exitCycle)
	}
	for _, l := range p.Loops {
		if len(l.Cycles) > 0 || l.Deadlock > 0 {
			return exitStatus(exitCycle)
		}
	}
	for _, l := range p.Loops {
		if l.Held != nil {
			return exitStatus(exitHeld)
		}
	}
	return nil
}

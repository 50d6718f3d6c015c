package main

// The verb ps.

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/rondo-go/rondo/inspect"
)

const psUsage = `Usage: rondo ps
       rondo ps [flags] PID|URL
       rondo ps [flags] --core FILE [--exe FILE]

It lists the tasks of a live process that uses Rondo, or of a core file: what
each waits for, since when, and how often it has run. It works on any Rondo
process: no special build, no pause, and also if its loop hangs. Then the task
that holds the loop comes first, with its stack. What a task waits for is not
known if it ran while the snapshot was taken. Several loops are listed side by
side before their tasks, with their open connections and how busy each has been.
The goroutines that run no task come last, those in one row that do the same:
what the runtime says that they wait for, the function that they began with, and
where they stand. Of a program of Go without Rondo there is nothing else.
Without a PID it lists the processes of Go, with the names of their loops and
what they serve: addresses, calls, messages and jobs of NATS.

  --filter TEXT   only tasks whose row contains the text
  --sort KEY      by id (as without it), name, since, age, switches, busy or
                  longest; the most first
  --columns LIST  what a row has, with commas between: id, name, state, waits,
                  since, age, switches, func, busy (time that it was charged
                  with), longest (step), slow (steps of 1 ms or more), waker,
                  parent, site (the call that started it)
  --limit N       N tasks of each loop, or N groups
  --group KEY     groups instead of tasks, the largest first, by what they wait
                  for (wait), what they run (func), where they are (stack) or
                  what owns them (scope)
  --json          everything that is known, stacks included, as JSON
  --core FILE     a core file instead of a process
  --exe FILE      the program of the core, if it is not where it was
  --max-time D, --max-memory MB
                  what the snapshot may take (default 1m, 2000 MB); tasks that
                  it then lacks are counted

For a process it needs the rights of a debugger: your own processes, where the
system lets users trace them, or root. Linux only.

A program that serves inspect.Handler is looked at by its URL, from anywhere:
https://host/debug/rondo, where the path may be left out. A user and a password
go before the host, as in https://user:password@host, or a token is put into
RONDO_TOKEN in the environment, and sent as a bearer token. Neither is sent
without TLS but to this machine. tree, top, locks, check, record and flame take
a URL, too.
`

func runPs(c *console, args []string) error {
	if len(args) == 0 {
		return runProcesses(c)
	}
	l := look{options: options{verb: "ps"}}
	var ch choice
	ch.flags(&l.options)
	l.flag(&l.json, "json")
	l.cores()
	l.bound()
	if err := l.parse(args); err != nil {
		return err
	}
	if l.json && ch.group != "" {
		return usagef("it is either --json, which has each task, or --group")
	}
	if name := l.given("columns", "sort"); name != "" && ch.group != "" {
		return usagef("with --group there are no rows of tasks: leave out --%s", name)
	}
	if l.json && ch.fields != nil {
		return usagef("with --json there is all of each task: leave out --columns")
	}
	p, err := l.take(inspect.Options{Goroutines: true, Stacks: l.json || ch.group == string(inspect.ByStack)})
	if err != nil {
		return err
	}
	ch.apply(p)
	return l.show(c, p, func(out *bufio.Writer) error {
		if ch.group != "" {
			ch.writeGroups(out, p, columns(c.out))
		} else {
			writeTable(out, p, ch.fields, columns(c.out))
		}
		writeGoroutines(out, p, strings.ToLower(ch.filter), ch.limit, columns(c.out))
		return nil
	})
}

// writeTable writes each loop with its tasks in columns, on a terminal that is so
// wide, or 0 for none: there lines are cut. A Writer that fails says so at its
// Flush.
func writeTable(out *bufio.Writer, p *inspect.Program, fs []field, width int) {
	if fs == nil {
		fs = fields[:usual]
	}
	writeLoops(out, p, func(l *inspect.Loop) {
		rows, numbers := cellsOf(fs, l.Tasks)
		writeRows(out, rows, numbers, width)
		if l.Omitted > 0 {
			fmt.Fprintf(out, "and %s\n", plural(l.Omitted, "more task"))
		}
	})
}

// writeLoops writes what is to be known of the program and of each loop, around
// what write writes of the loop.
func writeLoops(out *bufio.Writer, p *inspect.Program, write func(l *inspect.Loop)) {
	_ = p.WriteNotes(out)
	if len(p.Loops) == 0 {
		fmt.Fprintln(out, "No loop is running in it.")
	}
	_ = p.WriteLoops(out)
	for i, l := range p.Loops {
		if i > 0 || len(p.Loops) > 1 {
			fmt.Fprintln(out)
		}
		_ = l.WriteHead(out, false)
		write(l)
		_ = l.WriteCycles(out)
	}
	_ = p.WriteRings(out)
}

// writeRows writes rows in columns, some of which are numbers.
func writeRows(out *bufio.Writer, rows [][]string, numbers []int, width int) {
	for _, column := range numbers {
		toRight(rows, column)
	}
	for _, line := range align(rows) {
		if width > 0 {
			line = cut(line, width)
		}
		fmt.Fprintln(out, line)
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shortFunc drops the folders of a function's package.
func shortFunc(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

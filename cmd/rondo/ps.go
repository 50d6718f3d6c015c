package main

// This file has the verb ps.

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-go/rondo/inspect"
)

const psUsage = `Usage: rondo ps [--json] PID
       rondo ps [--json] --core FILE [--exe FILE]

It lists the tasks of a live process that uses Rondo, or of a core file: what
each waits for, since when, and how often it has run. It works on any Rondo
process: no special build, no pause, and also if its loop hangs. Then the task
that holds the loop comes first, with its stack. What a task waits for is not
known if it ran while the picture was taken.

  --json        everything that is known, stacks included, as JSON
  --core FILE   a core file instead of a process
  --exe FILE    the program of the core, if it is not where it was

It needs the rights of a debugger: your own processes, where the system lets
users trace them, or root. Linux only.
`

func runPs(c *console, args []string) error {
	l := look{options: options{verb: "ps"}}
	l.flag(&l.json, "json")
	l.cores()
	if err := l.parse(args); err != nil {
		return err
	}
	p, err := l.take(inspect.Options{Stacks: l.json})
	if err != nil {
		return err
	}
	return l.show(c, p, func(out *bufio.Writer) error {
		writeTable(out, p, columns(c.out))
		return nil
	})
}

// writeTable writes each loop with its tasks in columns, on a terminal that is so
// wide, or 0 for none: there lines are cut. A Writer that fails says so at its
// Flush.
func writeTable(out *bufio.Writer, p *inspect.Picture, width int) {
	_ = p.WriteNotes(out)
	if len(p.Loops) == 0 {
		fmt.Fprintln(out, "No loop is running in it.")
	}
	for i, l := range p.Loops {
		if i > 0 {
			fmt.Fprintln(out)
		}
		_ = l.WriteHead(out, false)
		rows := [][]string{{"#", "NAME", "STATE", "WAITS FOR", "SINCE", "AGE", "SWITCHES", "FUNCTION"}}
		for _, t := range l.Tasks {
			rows = append(rows, row(t))
		}
		for _, numbers := range []int{0, 4, 5, 6} {
			toRight(rows, numbers)
		}
		for _, line := range align(rows) {
			if width > 0 {
				line = cut(line, width)
			}
			fmt.Fprintln(out, line)
		}
		_ = l.WriteCycles(out)
	}
}

// row returns a task's cells.
func row(t *inspect.Task) []string {
	state, since := t.State, ""
	if t.Cancelled {
		state += ", cancelled"
	}
	if t.Since > 0 {
		since = short(t.Since)
	}
	waits := t.Waiting
	if t.Moved {
		waits = "(ran meanwhile)"
	}
	return []string{
		strconv.FormatUint(t.ID, 10), t.Name, state, dash(waits), dash(since), short(t.Age),
		strconv.FormatUint(t.Switches, 10), shortFunc(t.Func),
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

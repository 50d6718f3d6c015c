package main

// The verb flame.

import (
	"bufio"

	"github.com/rondo-go/rondo/inspect"
)

const flameUsage = `Usage: rondo flame [--by count|time] [--folded] PID|URL > tasks.svg
       rondo flame [--by count|time] [--folded] --core FILE [--exe FILE]

It draws where the tasks of a live process that uses Rondo, or of a core file,
are: a flame graph as SVG, for a browser. The outermost calls are below, those
that they made above them, and on top is what the tasks wait for.

  --by count    each task counts the same, as without it
  --by time     a task counts as long as it has waited
  --folded      a line for each stack instead of a drawing, for other tools
  --core FILE   a core file instead of a process
  --exe FILE    the program of the core, if it is not where it was
  --max-time D, --max-memory MB
                what the snapshot may take (default 1m, 2000 MB); tasks that it
                then lacks are counted
`

func runFlame(c *console, args []string) error {
	l := look{options: options{verb: "flame"}}
	weight, folded := string(inspect.ByCount), false
	l.text(&weight, "by", func(text string) error {
		if text != string(inspect.ByCount) && text != string(inspect.ByTime) {
			return usagef("--by takes count or time, not %q", text)
		}
		return nil
	})
	l.flag(&folded, "folded")
	l.cores()
	l.bound()
	if err := l.parse(args); err != nil {
		return err
	}
	p, err := l.take(inspect.Options{Stacks: true})
	if err != nil {
		return err
	}
	return l.show(c, p, func(out *bufio.Writer) error {
		write := p.WriteFlame
		if folded {
			write = p.WriteFolded
		}
		return write(out, inspect.Weight(weight))
	})
}

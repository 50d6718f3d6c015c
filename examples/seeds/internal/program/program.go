// Package program makes a command of several small programs, each of which has a
// name, prints something and ends.
package program

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/rondo-go/rondo"
)

// A Program prints to w what it has to show. It has either a Run or a Task.
type Program struct {
	Name  string
	About string // in a line

	// Run is the whole of it. If it Sleeps by the clock of package time, a test
	// runs it where that clock is simulated.
	Run    func(w io.Writer) error
	Sleeps bool

	// Task is the main task of a loop, which in a test is a simulated one.
	Task func(ctx context.Context, w io.Writer) error
}

// Start runs the program in the real world.
func (p Program) Start(w io.Writer) error {
	if p.Run != nil {
		return p.Run(w)
	}
	return rondo.Run(context.Background(), func(ctx context.Context) error { return p.Task(ctx, w) })
}

// Main runs the programs that the command's arguments name, or all of them if
// there are none, and exits.
func Main(list []Program) {
	flag.Usage = func() { usage(list) }
	flag.Parse()
	chosen, err := choose(list, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for i, p := range chosen {
		if len(chosen) > 1 {
			fmt.Printf("%.*s-- %s: %s --\n", min(i, 1), "\n", p.Name, p.About)
		}
		if err := p.Start(os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
			os.Exit(1)
		}
	}
}

// choose returns the programs of the given names, or all if there are no names.
func choose(list []Program, names []string) (chosen []Program, err error) {
	if len(names) == 0 {
		return list, nil
	}
next:
	for _, name := range names {
		for _, p := range list {
			if p.Name == name {
				chosen = append(chosen, p)
				continue next
			}
		}
		return nil, fmt.Errorf("there is no program %q here; -help lists those that there are", name)
	}
	return chosen, nil
}

func usage(list []Program) {
	fmt.Fprintln(flag.CommandLine.Output(), "Give the names of programs to run, or nothing to run them all:")
	table := tabwriter.NewWriter(flag.CommandLine.Output(), 0, 0, 2, ' ', 0)
	for _, p := range list {
		fmt.Fprintf(table, "  %s\t%s\n", p.Name, p.About)
	}
	_ = table.Flush() // to the terminal, where nothing can be done about it
}

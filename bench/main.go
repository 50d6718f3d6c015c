// Command bench measures Rondo against its rivals: plain goroutines, package net,
// bare iter.Pull and a C epoll loop. It prints a Markdown table of ratios.
//
//	go run ./bench                 the whole table
//	go run ./bench -run echo       the rows whose names match a regular expression
//	go run ./bench -short          a quick look
//	go run ./bench -write          the whole table, written to the README files too
//
// Absolute times depend on the machine, so a row is a ratio: both sides do equal
// work in alternating short rounds of one run, and the row shows the median of the
// rounds' ratios. README.md explains how to read it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == hidden {
		if err := child(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	err := command(os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options say how much is measured.
type options struct {
	rounds   int           // rounds of each side
	bursts   int           // bursts of each side in a round; the fastest counts
	burst    time.Duration // the least time that a burst of the rival takes
	many     int           // tasks in a batch, in the rows for many tasks
	batches  int           // the fewest batches in a burst; such a round is one burst, with its share of garbage collection
	sleep    time.Duration // how long each of the many sleeps
	requests int           // requests in a round of echo
	idle     int           // idle connections
	profile  string        // the folder for CPU profiles of server processes; "": none
}

// full is what the published table is measured with.
func full() options {
	return options{
		rounds: 15, bursts: 5, burst: 10 * time.Millisecond,
		many: 100_000, batches: 5, sleep: time.Millisecond,
		requests: 60_000, idle: 10_000,
	}
}

// short is for a quick look.
func short() options {
	o := full()
	o.rounds, o.bursts, o.batches, o.requests = 5, 3, 3, 20_000
	return o
}

// command is the whole program except its exit.
func command(args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	pattern := flags.String("run", "", "measure only rows whose names match this `regexp`")
	list := flags.Bool("list", false, "print the names of the rows")
	quick := flags.Bool("short", false, "fewer and shorter rounds")
	rounds := flags.Int("rounds", 0, "measure `n` rounds of each side")
	write := flags.Bool("write", false, "put the table between the markers in bench/README.md and README.md")
	profile := flags.String("profile", "", "write CPU profiles of the server processes to this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	only, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	if *write && *pattern != "" {
		return errors.New("-write with -run would drop the other rows: use one of the two")
	}
	o := full()
	if *quick {
		o = short()
	}
	if *rounds > 0 {
		o.rounds = *rounds
	}
	o.profile = *profile
	if *list {
		for _, r := range rows() {
			fmt.Fprintln(out, r.name)
		}
		return nil
	}
	t, err := measure(rows(), only, o, progress)
	if err != nil {
		return err
	}
	text := t.markdown()
	fmt.Fprint(out, text)
	if *write {
		return publish(text)
	}
	return nil
}

// measure runs the rows whose names match.
func measure(rows []row, only *regexp.Regexp, o options, progress io.Writer) (*table, error) {
	t := newTable(o)
	for _, r := range rows {
		if !only.MatchString(r.name) {
			continue
		}
		fmt.Fprintf(progress, "%-14s ", r.name)
		began := time.Now()
		found, err := r.run(o)
		var skip *skipped
		if errors.As(err, &skip) {
			t.notes = append(t.notes, skip.Error())
			fmt.Fprintln(progress, skip.Error())
		} else if err != nil {
			fmt.Fprintln(progress, "failed")
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		for _, f := range found {
			fmt.Fprintf(progress, "%s  ", f.brief())
		}
		fmt.Fprintf(progress, "(%.1fs)\n", time.Since(began).Seconds())
		t.results = append(t.results, found...)
	}
	return t, nil
}

// skipped is the error of a row that cannot be measured on this machine. It is not
// a failure: the table prints its sentence.
type skipped struct{ sentence string }

func (e *skipped) Error() string { return e.sentence }

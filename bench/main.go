// Command bench measures Rondo beside its rivals: plain goroutines, package net,
// bare iter.Pull and a C epoll loop. It prints a Markdown table of ratios.
//
//	go run ./bench                 the whole table
//	go run ./bench -run echo       the rows whose names match a regular expression
//	go run ./bench -short          a quick look
//	go run ./bench -write          and put the table into the README files
//
// Absolute times say more about the machine than about Rondo, so a row is a
// ratio: both sides do equal work in alternating short rounds of one run, and
// the median of the rounds' ratios counts. README.md says how to read it.
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
	burst    time.Duration // how long one of the rival's takes at least
	many     int           // how many tasks are in a batch, in the rows for many tasks
	batches  int           // batches in a burst at least, and one burst is a round: it has its share of the collector's work
	sleep    time.Duration // how long each of the many sleeps
	requests int           // requests in a round of echo
	idle     int           // idle connections
	profile  string        // where server processes leave CPU profiles; "" means nowhere
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

// command is the whole program but for its exit.
func command(args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	pattern := flags.String("run", "", "measure only rows whose names match this `regexp`")
	list := flags.Bool("list", false, "print the names of the rows")
	quick := flags.Bool("short", false, "fewer and shorter rounds")
	rounds := flags.Int("rounds", 0, "measure `n` rounds of each side")
	write := flags.Bool("write", false, "put the table between the markers in bench/README.md and README.md")
	profile := flags.String("profile", "", "let the server processes leave CPU profiles in this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	only, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	if *write && *pattern != "" {
		return errors.New("-write with -run would drop the other rows; leave one of them out")
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
		var skip *leftOut
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
		t.findings = append(t.findings, found...)
	}
	return t, nil
}

// leftOut is a row's error if it cannot be measured here. It is no failure: the
// table says so in a sentence.
type leftOut struct{ sentence string }

func (e *leftOut) Error() string { return e.sentence }

// Command bench measures Rondo against its rivals: goroutines and package net, bare
// iter.Pull, gnet, netpoll, nbio, fasthttp and nats.go, and outside Go tokio, monoio, hyper,
// turmoil, shuttle, programs in C that call epoll and io_uring, asyncio and uvloop. It prints
// Markdown tables of ratios, and says which rivals this machine does not have.
//
//	go run ./bench                 the whole table
//	go run ./bench -run echo       the rows whose names match a regular expression
//	go run ./bench -short          a quick look
//	go run ./bench -write          the results are kept, and written to the README files
//	go run ./bench -plot           the plots in docs/img, drawn from the kept results
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
	"slices"
	"strings"
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

// command is the whole program except its exit.
func command(args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	pattern := flags.String("run", "", "measure only rows whose names match this `regexp`")
	list := flags.Bool("list", false, "print the names of the rows")
	quick := flags.Bool("short", false, "fewer and shorter rounds")
	rounds := flags.Int("rounds", 0, "measure `n` rounds of each side")
	write := flags.Bool("write", false, "keep the results in bench/results.json, and write the tables in bench/README.md and README.md from it; rows that -run leaves out stay as they are")
	plots := flags.Bool("plot", false, "draw the plots in docs/img, and write the tables again, from bench/results.json; without -write nothing is measured")
	profile := flags.String("profile", "", "write CPU profiles of the server processes to this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag: use -run %s to choose rows", flags.Arg(0), flags.Arg(0))
	}
	only, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	o := full()
	if *quick {
		o = short()
	}
	if *rounds > 0 {
		o.rounds = *rounds
	}
	o.profile, o.progress = *profile, progress
	root := ""
	if *write || *plots {
		if root, err = projectRoot(); err != nil {
			return err
		}
	}
	switch {
	case *list:
		for _, r := range rows() {
			fmt.Fprintln(out, r.name)
		}
		return nil
	case *plots && !*write:
		return redraw(root, out)
	}
	found, err := measure(rows(), only, o, progress)
	fmt.Fprint(out, found.markdown())
	if *write && len(found.Rows) > 0 {
		// What was measured before a row failed is kept too.
		err = errors.Join(err, keep(root, found))
	}
	if err != nil || !*plots {
		return err
	}
	return redraw(root, out)
}

// keep puts the rows found in place of those in results.json, and writes the tables.
func keep(root string, found *record) error {
	old, err := loadRecord(root)
	if errors.Is(err, os.ErrNotExist) {
		old, err = new(record), nil
	}
	if err != nil {
		return err
	}
	return publish(root, old.merge(found, rows()))
}

// redraw writes the tables and draws the plots from results.json.
func redraw(root string, out io.Writer) error {
	d, err := loadRecord(root)
	if err != nil {
		return err
	}
	d = d.merge(new(record), rows())
	if err := publish(root, d); err != nil {
		return err
	}
	return drawPlots(d, root, out)
}

// measure runs the rows whose names match. The record has all that was measured,
// also if there is an error.
func measure(rows []row, only *regexp.Regexp, o options, progress io.Writer) (*record, error) {
	d := new(record)
	for _, r := range rows {
		if !only.MatchString(r.name) {
			continue
		}
		fmt.Fprintf(progress, "%-16s ", r.name)
		began := time.Now()
		found, err := r.run(o)
		m := newMeasured(r, o)
		var skip *skipped
		if errors.As(err, &skip) {
			m.Missing = slices.Compact(skip.sentences)
		} else if err != nil {
			fmt.Fprintln(progress, "failed")
			return d, fmt.Errorf("%s: %w", r.name, err)
		}
		for _, f := range found {
			fmt.Fprintf(progress, "%s  ", f.brief())
		}
		fmt.Fprintf(progress, "(%.1fs)\n", time.Since(began).Seconds())
		for _, s := range m.Missing {
			fmt.Fprintf(progress, "    %s\n", s)
		}
		m.Results = found
		d.Rows = append(d.Rows, m)
	}
	if len(d.Rows) == 0 {
		return d, fmt.Errorf("no row matches %q: -list prints their names", only)
	}
	return d, nil
}

// skipped is the error of a row that cannot be measured on this machine, or not
// with every rival. It is not a failure: the table prints its sentences.
type skipped struct{ sentences []string }

func (e *skipped) Error() string { return strings.Join(e.sentences, " ") }

// missing is the error of a row or a rival that is not there.
func missing(format string, args ...any) error {
	return &skipped{[]string{fmt.Sprintf(format, args...)}}
}

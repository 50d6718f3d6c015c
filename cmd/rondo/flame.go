package main

// The verb flame.

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

const flameUsage = `Usage: rondo flame [--by count|time] [--folded] PID|URL > tasks.svg
       rondo flame [--by count|time] [--folded] --core FILE [--exe FILE]
       rondo flame --wall D [--every D] [--folded] PID|URL > tasks.svg
       rondo flame --than BEFORE [--wall D] PID|URL|AFTER > change.svg

It draws where the tasks of a live process that uses Rondo, or of a core file,
are: a flame graph as SVG, for a browser. The outermost calls are below, those
that they made above them, and on top is what the tasks wait for.

  --by count    each task counts the same, as without it
  --by time     a task counts as long as it has waited
  --wall D      where tasks spend so much time from now on: each task counts as
                long as it runs, is ready, or waits for what it waits for; ends
                with the process or at Ctrl-C, too
  --every D     how often it looks meanwhile (default 200ms); less often if that
                takes long
  --folded      a line for each stack instead of a drawing, for other tools
  --than FILE   compared with what --folded wrote before: red has grown, blue
                has shrunk; in place of a process another such file can be named
  --core FILE   a core file instead of a process
  --exe FILE    the program of the core, if it is not where it was
  --max-time D, --max-memory MB
                what a snapshot may take (default 1m, 2000 MB); tasks that it
                then lacks are counted
`

// A flamed is the command line of the verb.
type flamed struct {
	look
	weight      string
	wall, every time.Duration
	folded      bool
	than        string
}

func runFlame(c *console, args []string) error {
	f := flamed{look: look{options: options{verb: "flame"}, files: true}}
	f.text(&f.weight, "by", func(text string) error {
		if text != string(inspect.ByCount) && text != string(inspect.ByTime) {
			return usagef("--by takes count or time, not %q", text)
		}
		return nil
	})
	f.span(&f.wall, "wall", 1)
	f.span(&f.every, "every", 1)
	f.flag(&f.folded, "folded")
	f.text(&f.than, "than", named("than", "a file that --folded wrote"))
	f.cores()
	f.bound()
	if err := f.parse(args); err != nil {
		return err
	}
	switch {
	case f.weight != "" && f.wall > 0:
		return usagef("with --wall tasks count by time: leave out --by")
	case f.every > 0 && f.wall == 0:
		return usagef("--every goes with --wall: it says how often that looks")
	case f.every > 0 && f.every < quickest:
		return usagef("--every takes %v or more, not %v", quickest, f.every)
	case f.wall > 0 && f.core != "":
		return usagef("a core has one moment only: leave out --wall")
	case f.wall > 0 && f.file != "":
		return usagef("a file has been written: leave out --wall")
	case f.folded && f.than != "":
		return usagef("--than draws: leave out --folded")
	}
	f.weight, f.every = cmp.Or(f.weight, string(inspect.ByCount)), cmp.Or(f.every, 200*time.Millisecond)
	var before *inspect.Profile
	var err error
	if f.than != "" {
		if before, err = readFolded(f.than); err != nil {
			return err
		}
	}
	p, failed := f.profile()
	if p == nil {
		return failed
	}
	out := bufio.NewWriter(c.out)
	if f.folded {
		err = p.WriteFolded(out)
	} else {
		err = p.WriteFlame(out, before)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
	}
	return failed
}

// profile returns what is to be drawn, also with an error that ended it early.
func (f *flamed) profile() (*inspect.Profile, error) {
	switch {
	case f.file != "":
		return readFolded(f.file)
	case f.wall > 0:
		return f.watch()
	}
	p, err := f.take(inspect.Options{Stacks: true})
	if err != nil {
		return nil, err
	}
	heldFirst(p)
	return p.Profile(inspect.Weight(f.weight)), nil
}

// readFolded reads a profile from a file.
func readFolded(name string) (*inspect.Profile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("there is no profile: %w", err)
	}
	defer file.Close()
	p, err := inspect.ReadFolded(io.LimitReader(file, mostAnswer))
	if err != nil {
		return nil, fmt.Errorf("%s was not written by rondo flame --folded: %w", name, err)
	}
	return p, nil
}

// watch looks again and again, until the time is over, the process ends or a signal comes. If a
// look fails it returns the error, and what there was before it.
func (f *flamed) watch() (_ *inspect.Profile, err error) {
	t, err := f.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, func() { interrupt(t) })()
	o := inspect.Options{Stacks: true, MaxTime: f.time, MaxMemory: int64(f.memory) * 1_000_000}
	profile, end := inspect.NewWallProfile(), time.Now().Add(f.wall)
	before, err := t.Snapshot(o)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errNothing
	case err != nil:
		return nil, err
	}
	for looks := 0; ; looks++ {
		took := time.Since(before.Taken)
		select {
		case <-ctx.Done():
			return profile, nil
		case <-time.After(min(max(f.every, 9*took), max(time.Until(end), quickest))):
		}
		var after *inspect.Program
		var flight *inspect.Flight
		if after, err = t.Snapshot(o); err == nil {
			flight, err = t.Flight(after.Taken.Sub(before.Taken))
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return profile, nil
		case err != nil && looks == 0:
			return nil, err
		case errors.Is(err, os.ErrProcessDone):
			return profile, nil
		case err != nil:
			return profile, fmt.Errorf("it ended early, and drew what it had seen: %w", err)
		}
		profile.AddBetween(before, after, flight)
		if before = after; time.Now().After(end) {
			return profile, nil
		}
	}
}

package main

// The part that the verbs which read programs share: the choice of the program,
// and the form of the output.

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// look is the command line of such a verb.
type look struct {
	options
	bounds
	pid  int
	url  *url.URL // of a program that shows itself, in place of pid
	core string
	exe  string
	file string // in place of a process
	json bool
	full bool

	files bool // a file can be named in place of a process
}

// parse reads the command line: a process, a URL or --core, with flags before and after
// it.
func (l *look) parse(args []string) error {
	var rest []string
	for {
		more, err := l.options.parse(args)
		if err != nil {
			return err
		}
		if len(more) == 0 {
			break
		}
		rest = append(rest, more[0])
		args = more[1:]
	}
	if len(rest) > 1 {
		return none(l.verb, rest[1:])
	}
	switch {
	case l.exe != "" && l.core == "":
		return usagef("--exe goes with --core: it names the program of that core")
	case l.core != "" && len(rest) > 0:
		return usagef("it is either a process or --core, not both %s and %s", rest[0], l.core)
	case l.core != "":
		return nil
	case len(rest) == 0:
		return usagef("a process is missing, as in: rondo %s PID", l.verb)
	case isURL(rest[0]):
		u, err := parseURL(rest[0])
		l.url = u
		return err
	}
	pid, err := strconv.Atoi(rest[0])
	if err != nil && l.files {
		if _, err := os.Stat(rest[0]); err == nil {
			l.file = rest[0]
			return nil
		}
	}
	if err != nil || pid < 1 {
		return l.unknown(rest[0])
	}
	l.pid = pid
	return nil
}

// unknown is the error for an argument that names no program.
func (l *look) unknown(text string) error {
	file := ""
	if l.files {
		file = ", and there is no such file"
	}
	return usagef("a process is given by its number, such as %d, or by its URL, such as %s, not %q%s", os.Getppid(), likelyURL(text), text, file)
}

// cores adds the flags for core files.
func (l *look) cores() {
	l.text(&l.core, "core", named("core", "a core file"))
	l.text(&l.exe, "exe", named("exe", "the file of the program"))
}

const gcPercent = 40

// bounds are those on what a snapshot takes.
type bounds struct {
	time   time.Duration
	memory int // megabytes
}

// bound adds the flags for them.
func (l *look) bound() {
	l.time, l.memory = time.Minute, 2000
	l.span(&l.time, "max-time", 1)
	l.number(&l.memory, "max-memory", "a number of megabytes from 1 up", 1<<20)
}

func named(name, what string) func(string) error {
	return func(text string) error {
		if text == "" {
			return usagef("--%s takes %s", name, what)
		}
		return nil
	}
}

// open opens the program.
func (l *look) open() (subject, error) {
	// A snapshot of many tasks is nearly all that is kept: room for as much again is not
	// needed.
	debug.SetGCPercent(gcPercent)
	if l.core != "" {
		t, err := inspect.OpenCore(l.core, l.exe)
		if os.IsNotExist(err) {
			return nil, fmt.Errorf("there is no file %s; look at the path", l.missing())
		}
		return t, err
	}
	return l.openSubject()
}

// missing returns the one of the two files that is not there.
func (l *look) missing() string {
	if _, err := os.Stat(l.core); err != nil || l.exe == "" {
		return l.core
	}
	return l.exe
}

// heldFirst puts the loops that do not turn before the others.
func heldFirst(p *inspect.Program) {
	slices.SortStableFunc(p.Loops, func(a, b *inspect.Loop) int {
		switch {
		case (a.Held != nil) == (b.Held != nil):
			return 0
		case a.Held != nil:
			return -1
		}
		return 1
	})
}

// take opens the program and takes one snapshot of it.
func (l *look) take(o inspect.Options) (*inspect.Program, error) {
	t, err := l.open()
	if err != nil {
		return nil, err
	}
	o.MaxTime, o.MaxMemory = l.time, int64(l.memory)*1_000_000
	p, err := t.Snapshot(o)
	if e := t.Close(); err == nil && e != nil {
		return nil, e
	}
	return p, err
}

// show writes the snapshot: as JSON if that was asked for, otherwise as write does,
// the loops that are held first.
func (l *look) show(c *console, p *inspect.Program, write func(out *bufio.Writer) error) error {
	out := bufio.NewWriter(c.out)
	if l.json {
		write = func(out *bufio.Writer) error { return p.WriteJSON(out) }
	} else {
		heldFirst(p)
	}
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
	}
	return nil
}

package main

// The verb trace.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"
)

const traceUsage = `Usage: rondo trace FILE -- PROGRAM [ARGUMENT...]

It runs a program that uses Rondo and writes a timeline of its loops to FILE:
every task, when it ran, what it waited for, and which task woke it. Open FILE
at https://ui.perfetto.dev.

The program runs as usual: it has this terminal, it gets the signals that this
command gets, and this command exits with its exit status. If the program is
killed, the last quarter of a second is missing.

In the name FILE, %p stands for the process id. Programs that the program starts
write to the same FILE unless its name contains %p.
RONDO_TRACE=FILE in the environment of a program does the same without this
command.
`

// An exitStatus is that of the program that was run. Nothing is said about it.
type exitStatus int

func (e exitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

func runTrace(c *console, args []string) error {
	o := options{verb: "trace"}
	args, err := o.parse(args)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0 || args[0] == "":
		return usagef(`a file and a program are missing, as in: rondo trace FILE -- PROGRAM`)
	case len(args) < 2 || args[1] != "--":
		return usagef(`"--" and a program must follow the file, as in: rondo trace FILE -- PROGRAM`)
	case len(args) < 3:
		return usagef(`a program is missing after "--", as in: rondo trace FILE -- PROGRAM`)
	}
	return c.trace(args[0], args[2:])
}

// trace runs the program with RONDO_TRACE set, and says what is in the file.
func (c *console) trace(name string, command []string) error {
	// The program may go to another folder before it opens the file.
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return programError(command[0], err)
	}
	if !strings.Contains(path, "%p") {
		if err := tryToWrite(path); err != nil {
			return fmt.Errorf("%s cannot be written; choose another file: %w", name, reason(err))
		}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.out, c.err
	cmd.Env = append(os.Environ(), "RONDO_TRACE="+path)
	status, err := runThrough(cmd)
	if err != nil {
		return programError(command[0], err)
	}
	path = strings.ReplaceAll(path, "%p", strconv.Itoa(cmd.Process.Pid))
	said := c.summarize(path, command[0])
	if status != 0 {
		if said != nil {
			// What the program ended with comes first.
			_, _ = fmt.Fprintf(c.err, "rondo trace: %v\n", said)
		}
		return exitStatus(status)
	}
	return said
}

// programError says what to do about a program that could not be run.
func programError(name string, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no program %q in PATH; for one in this folder write ./%s", name, name)
	case errors.Is(err, exec.ErrDot):
		return fmt.Errorf("%q is in this folder, not in PATH; write ./%s", name, name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no program %q; look at the path", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%q may not be run; look at whether it is a program", name)
	}
	return fmt.Errorf("%q cannot be run: %w", name, reason(err))
}

// reason takes from an error the operation and the path, which were said.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// tryToWrite empties the file, or fails as the program would. It refuses a device or a pipe: to
// open one may wait for ever, and to read one may have no end.
func tryToWrite(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return errors.New("it is a device or a pipe")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	return f.Close()
}

// runThrough runs cmd, passes on the signals that come meanwhile, and returns its
// exit status, as a shell counts it.
func runThrough(cmd *exec.Cmd) (status int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	// What is typed at our terminal goes to the program as well as to us, also if some of these
	// are pipes.
	typed := slices.ContainsFunc([]*os.File{os.Stdin, os.Stdout, os.Stderr}, func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) })
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if !typed || s != os.Interrupt && s != syscall.SIGQUIT {
				// It may have ended, which is soon known.
				_ = cmd.Process.Signal(s)
			}
		case err := <-ended:
			if cmd.ProcessState == nil {
				return 0, err
			}
			if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
				return 128 + int(w.Signal()), nil
			}
			return cmd.ProcessState.ExitCode(), nil
		}
	}
}

// summarize says what is in the file.
func (c *console) summarize(path, program string) error {
	t, err := tallyFile(path)
	if err != nil {
		return fmt.Errorf("the timeline cannot be read: %w", err)
	}
	if t.loops == 0 {
		_ = removeEmpty(path)
		return fmt.Errorf("no loop of Rondo ran in %s, so there is no timeline; does it use Rondo, and did it call Run?", program)
	}
	where := path
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
			where = rel
		}
	}
	cut := ""
	if !t.whole {
		cut = ", without its end"
	}
	_, err = fmt.Fprintf(c.err, "rondo trace: %s of %s, %s in %s%s; open it at https://ui.perfetto.dev\n",
		plural(t.tasks, "task"), plural(t.loops, "loop"), plural(t.events, "event"), where, cut)
	if err != nil {
		return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
	}
	return nil
}

func removeEmpty(path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
		return err
	}
	return os.Remove(path)
}

// tally is what a timeline has in it.
type tally struct {
	loops, tasks, events int
	whole                bool // the loops ended before the program did
}

func tallyFile(path string) (t tally, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		t.add(line)
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return t, err
		}
	}
}

// add counts a line of the file, which is an event if it is not a bracket.
func (t *tally) add(line string) {
	switch line = strings.TrimSpace(line); {
	case strings.HasPrefix(line, "{"):
		t.events++
	case line == "]":
		t.whole = true
	}
	switch {
	case strings.HasPrefix(line, `{"ph":"M"`) && strings.Contains(line, `,"name":"process_name","args"`):
		t.loops++
	case strings.HasPrefix(line, `{"ph":"i"`) && strings.Contains(line, `,"name":"started","args"`):
		t.tasks++
	}
}

// Command rondo shows Rondo at work.
//
// Each verb is a file of its name, and gets a console to write to and what
// follows the verb on the command line. It returns an error of one sentence that
// says what to do; run puts the command's name before it and makes it the exit
// status: 2 if the command line was not understood, 1 if anything else failed. What
// the verb tree finds has statuses of its own.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitCycle  = 3 // tasks wait for each other in a cycle, or a loop is in deadlock
	exitHeld   = 4 // a loop does not turn
	exitWarned = 5 // check has found something
	exitUnread = 6 // check has found nothing, but not all could be read
)

// A console is where a verb writes: what was asked for to out, what went wrong
// to err.
type console struct{ out, err io.Writer }

// A verb is one of the things that the command does.
type verb struct {
	name    string
	summary string
	usage   string // the rest of its help
	run     func(c *console, args []string) error
}

// verbs are in the order of the help text.
func verbs() []verb {
	return []verb{
		{"demo", "a server and 1,000 clients on one loop, measured", demoUsage, runDemo},
		{"echo", "an echo server, until Ctrl-C", echoUsage, runEcho},
		{"ps", "the tasks of a live process or a core file", psUsage, runPs},
		{"tree", "the same tasks as a tree, with their stacks", treeUsage, runTree},
		{"top", "the same tasks on a live screen", topUsage, runTop},
		{"locks", "the locks and queues for which the same tasks wait", locksUsage, runLocks},
		{"record", "snapshots of the same tasks over time, in a file", recordUsage, runRecord},
		{"diff", "what is different between two snapshots", diffUsage, runDiff},
		{"check", "what looks wrong with the same tasks", checkUsage, runCheck},
		{"flame", "a flame graph of where the same tasks are, as SVG", flameUsage, runFlame},
		{"trace", "run a program and write a timeline of its tasks", traceUsage, runTrace},
		{"completion", "a script that completes commands and flags in a shell", completionUsage, runCompletion},
		{"man", "the manual page", manUsage, runMan},
		{"help", `the commands, or one of them: rondo help demo`, helpUsage, runHelp},
		{"version", "the version of this program", versionUsage, runVersion},
	}
}

func verbNamed(name string) (verb, bool) {
	for _, v := range verbs() {
		if v.name == name {
			return v, true
		}
	}
	return verb{}, false
}

// A usageError is a command line that was not understood.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// run does what args say and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	c := &console{out: stdout, err: stderr}
	name, err := c.dispatch(args)
	if err == nil {
		return exitDone
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	// If this fails, the error cannot be reported anywhere.
	_, _ = fmt.Fprintf(stderr, "%s: %s\n", name, sentence(err))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// sentence returns what err says, if it is several errors what the first says.
func sentence(err error) string {
	first, rest, more := strings.Cut(err.Error(), "\n")
	if !more {
		return first
	}
	return fmt.Sprintf("%s (and %s)", first, plural(strings.Count(rest, "\n")+1, "more error"))
}

// dispatch runs the verb that args begin with. It also returns the name to put
// before its error.
func (c *console) dispatch(args []string) (name string, err error) {
	if len(args) == 0 {
		return "rondo", usagef(`a command is missing; try "rondo demo", or "rondo help" for all of them`)
	}
	switch args[0] {
	case "-h", "-help", "--help":
		args = append([]string{"help"}, args[1:]...)
	case "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	v, ok := verbNamed(args[0])
	if !ok {
		return "rondo", unknownVerb(args[0])
	}
	err = v.run(c, args[1:])
	if errors.Is(err, flag.ErrHelp) {
		err = c.help(v)
	}
	return "rondo " + v.name, err
}

func unknownVerb(name string) error {
	if strings.HasPrefix(name, "-") {
		return usagef(`flags such as %q come after a command; "rondo help" lists the commands`, name)
	}
	return usagef(`there is no command %q; "rondo help" lists the commands`, name)
}

package main

// The verb help and the texts that it prints. A test compares them with the
// flags of each verb.

import (
	"fmt"
	"strings"
)

const demoUsage = `Usage: rondo demo [--conns N] [--for D] [--size N] [--loops N] [--alone]

A server and its clients talk over TCP on this machine. Each connection is a
task at both ends, and all tasks run on one loop, one at a time. Each client
sends a message, waits until all of it has come back, and sends the next one.
All do so as fast as they can, so a round trip includes the time of every other
client. Then goroutines and package net do the same work for as long, and a
table compares the two.

  --conns N   how many clients (default 1000)
  --for D     how long they talk, such as 10s or 1m30s (default 5s)
  --size N    bytes in a message, up to 16777216 (default 64)
  --loops N   how many loops serve; the clients stay on the first (default 1)
  --alone     without the goroutines

Ctrl-C ends it early, with the figures so far.
`

const echoUsage = `Usage: rondo echo [--addr HOST:PORT] [--grace D] [--loops N]

An echo server: it sends back what it gets. Each connection is a task.

  --addr HOST:PORT   where to listen; port 0 takes any free one
                     (default 127.0.0.1:7777)
  --grace D          how long connections may go on after Ctrl-C (default 5s)
  --loops N          how many loops serve; each connection is on the one that
                     has the fewest (default 1)

Ctrl-C or SIGTERM ends it: it accepts no more connections, lets those it has
finish, closes those that take longer than the grace, and prints a summary. A
second Ctrl-C ends it at once.
`

const helpUsage = `Usage: rondo help [command]

It says what the command does. Without one it lists the commands.
`

const versionUsage = `Usage: rondo version

It prints the version, and the Go that built it.
`

func runHelp(c *console, args []string) error {
	o := options{verb: "help"}
	args, err := o.parse(args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return c.overview()
	}
	if err := none(o.verb, args[1:]); err != nil {
		return err
	}
	v, ok := verbNamed(args[0])
	if !ok {
		return unknownVerb(args[0])
	}
	return c.help(v)
}

// help prints what there is to know of v.
func (c *console) help(v verb) error {
	return c.print("rondo " + v.name + ": " + v.summary + "\n\n" + v.usage)
}

func (c *console) overview() error {
	var b strings.Builder
	b.WriteString("Rondo runs thousands of tasks on one event loop; this command shows it at work.\n\n" +
		"Usage: rondo <command> [flags]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  %-10s %s\n", v.name, v.summary)
	}
	b.WriteString("\nExit status, but for trace, which has that of its program:\n\n")
	for _, s := range statuses {
		fmt.Fprintf(&b, "  %d  %s\n", s.status, s.means)
	}
	return c.print(b.String())
}

// print writes to standard output.
func (c *console) print(text string) error {
	if _, err := c.out.Write([]byte(text)); err != nil {
		return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
	}
	return nil
}

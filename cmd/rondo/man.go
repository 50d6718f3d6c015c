package main

// The verb man.

import (
	"fmt"
	"strings"
)

const manUsage = `Usage: rondo man

It prints the manual page of this command, as in:

  rondo man | man -l -
`

func runMan(c *console, args []string) error {
	o := options{verb: "man"}
	if err := o.parseAll(args); err != nil {
		return err
	}
	return c.print(manual())
}

// manual is the page, in the language of man(7). What each verb does is what its help says.
func manual() string {
	var b strings.Builder
	b.WriteString(".TH RONDO 1\n.SH NAME\nrondo \\- look into programs of Rondo, an event loop for Go\n" +
		".SH SYNOPSIS\n.B rondo\n.I command\n.RI [ flags ]\n.SH COMMANDS\n")
	for _, v := range verbs() {
		fmt.Fprintf(&b, ".SS rondo %s\n%s.\n.PP\n.nf\n%s.fi\n", v.name, roff(strings.ToUpper(v.summary[:1])+v.summary[1:]), roff(v.usage))
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, s := range statuses {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", s.status, roff(s.means))
	}
	return b.String()
}

// statuses say what the exit statuses mean.
var statuses = []struct {
	status int
	means  string
}{
	{exitDone, "It is done; of check: nothing looks wrong."},
	{exitFailed, "It has failed."},
	{exitUsage, "The command line was not understood."},
	{exitCycle, "Of tree: tasks wait for each other in a cycle, or a loop is in deadlock."},
	{exitHeld, "Of tree: something holds a loop, and there is no cycle."},
	{exitWarned, "Of check: something looks wrong."},
	{exitUnread, "Of check: nothing looks wrong, but not all could be read."},
}

// roff writes a text so that roff(7) shows it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

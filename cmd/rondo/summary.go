package main

// The texts of a demo: before, while and after it runs.

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rondo-go/rondo"
)

// opening is the line before everything.
func (d *demo) opening() string {
	where := "and a server, on one loop, over TCP"
	if d.loops > 1 {
		where = "on one loop, and a server on " + plural(d.loops, "loop") + ", over TCP"
	}
	return plural(d.conns, "client") + " " + where + ". Ctrl-C ends it early.\n\n"
}

// watch shows how far the demo is: ten times a second on a terminal, else once a
// second when the clients talk.
func (d *demo) watch(ctx context.Context, p *progress) error {
	interval := time.Second / 10
	if !p.live() {
		interval = time.Second
		if err := d.ready.Wait(ctx); err != nil {
			return err
		}
	}
	var speed pace
	for {
		var passed time.Duration
		if !d.begun.IsZero() {
			passed = rondo.Now(ctx).Sub(d.begun)
		}
		if err := rondo.Sleep(ctx, interval-passed%interval); err != nil {
			return err
		}
		if err := p.show(ctx, d.line(rondo.Now(ctx), &speed, p.columns())); err != nil {
			return err
		}
	}
}

// line is what is shown at a moment, on a terminal with so many columns, or
// elsewhere if that is 0. What does not fit is left out.
func (d *demo) line(now time.Time, speed *pace, columns int) string {
	if d.begun.IsZero() {
		return "  " + count(d.dialled) + " of " + plural(d.conns, "client") + " connected"
	}
	speed.mark(d.begun, 0)
	passed, whole := now.Sub(d.begun), long(d.length)
	done := tenths(passed)
	if d.length >= time.Minute {
		done = long(passed.Round(time.Second))
	}
	words := fmt.Sprintf("%*s of %s   %9s messages/s   ", utf8.RuneCountInString(whole)+2, done, whole, count(int64(speed.mark(now, d.trips.n))))
	middle, slow := fmt.Sprintf("p50 %-7s   ", d.trip(0.50)), fmt.Sprintf("p99 %-7s", d.trip(0.99))
	if columns == 0 {
		return "  " + words + middle + slow
	}
	// What is left beside two blanks before, three behind the bar, and the
	// columns that stay free.
	room := columns - utf8.RuneCountInString(words+slow) - 8
	if rest := room - utf8.RuneCountInString(middle); rest >= barLeast {
		words, room = words+middle, rest
	}
	if b := bar(float64(passed)/float64(d.length), room); b != "" {
		words = b + "   " + words
	}
	return "  " + words + slow
}

// A pace measures how fast a count grows.
type pace struct{ marks []mark }

type mark struct {
	at time.Time
	n  uint64
}

// mark notes the count at a moment, and returns its growth a second over the last
// second, or over the time that it has been marked if that is shorter. A moment
// that is not after the last changes nothing.
func (p *pace) mark(at time.Time, n uint64) (perSecond float64) {
	if len(p.marks) > 0 && !at.After(p.marks[len(p.marks)-1].at) {
		return 0
	}
	p.marks = append(p.marks, mark{at, n})
	for len(p.marks) > 2 && at.Sub(p.marks[1].at) >= time.Second {
		p.marks = p.marks[1:]
	}
	first := p.marks[0]
	if len(p.marks) == 1 {
		return 0
	}
	return float64(n-first.n) / at.Sub(first.at).Seconds()
}

// summary is what is said when it is over.
func (d *demo) summary() string {
	var rows [][]string
	row := func(cells ...string) { rows = append(rows, cells) }
	n, elapsed := d.trips.n, d.elapsed().Seconds()
	if n > 0 {
		perSecond := float64(n) / elapsed
		row("messages", count(n)+" of "+size(float64(d.size)), count(int64(perSecond))+" a second", size(perSecond*float64(d.size))+"/s each way")
		row("round trip", "p50 "+d.trip(0.50), "p99 "+d.trip(0.99), "max "+brief(d.trips.max))
	}
	row("tasks", count(len(d.tasks)))
	if elapsed > 0 {
		switches, turns := d.after.Switches-d.before.Switches, d.after.Turns-d.before.Turns
		row("switches", count(switches), each(switches, n, "a message"))
		row("turns", count(turns), each(switches, turns, "switches a turn"))
		row("busy", figures(100*(d.after.Busy-d.before.Busy).Seconds()/elapsed)+" %")
	}
	for _, s := range d.shares {
		row(s.name, figures(s.busy)+" % busy")
	}
	moment := "when it ended"
	if d.halfway {
		moment = "half-way through"
	}
	return d.outcome() + "\n\n" + indented(align(rows)) +
		"\nThe tasks " + moment + ", and what they were doing:\n\n" + indented(draw(outline(d.tasks)))
}

// trip writes a quantile of the round trips.
func (d *demo) trip(q float64) string {
	if d.trips.n == 0 {
		return "-"
	}
	return brief(d.trips.quantile(q))
}

// elapsed is how long the clients have talked.
func (d *demo) elapsed() time.Duration {
	if d.begun.IsZero() {
		return 0
	}
	return d.ended.Sub(d.begun)
}

// outcome says what happened.
func (d *demo) outcome() string {
	switch {
	case d.begun.IsZero():
		return fmt.Sprintf("%s ended it when %s of %s were connected; none had talked.", d.ender, count(d.dialled), plural(d.conns, "client"))
	case d.ender != "":
		return fmt.Sprintf("%s talked for %s of %s, until %s ended it.", plural(d.conns, "client"), long(d.elapsed()), long(d.length), d.ender)
	case d.trips.n == 0:
		return fmt.Sprintf("%s talked for %s, and no message came back in that time; try a longer --for or a smaller --size.", plural(d.conns, "client"), long(d.elapsed()))
	}
	return fmt.Sprintf("%s talked for %s.", plural(d.conns, "client"), long(d.elapsed()))
}

// each says how many of n there are for each of many, and nothing if there are
// none of these.
func each(n, many uint64, of string) string {
	if many == 0 {
		return ""
	}
	return figures(float64(n)/float64(many)) + " " + of
}

package main

// This file draws a board. A frame is never wider or higher than the terminal,
// whatever its size, and only what is in sight is written.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/rondo-go/rondo/inspect"
)

// least is how many tasks are shown at least, if the terminal is high enough; the
// loops make room for them.
const least = 3

func (b *board) View() tea.View {
	v := tea.NewView(strings.Join(b.draw(), "\n"))
	v.AltScreen = true
	return v
}

// draw returns the lines of a frame.
func (b *board) draw() []string {
	if b.height < 1 || b.width < 1 {
		return nil
	}
	lines, room := b.head(), b.room()
	if room > 0 {
		body := b.table()
		if b.open != (badge{}) {
			body = b.where()
		}
		lines = append(lines, body...)
	}
	if b.height >= 4 {
		for len(lines) < b.height-1 {
			lines = append(lines, "")
		}
		lines = append(lines, b.faint(cut(b.help(), b.width)))
	}
	return lines[:min(len(lines), b.height)]
}

// room is for how many tasks, or lines of a stack, there is room.
func (b *board) room() int {
	rest := b.height - len(b.head()) - len(b.caption())
	if b.height >= 4 {
		rest-- // the keys
	}
	return rest
}

// head is what stands above the tasks: what is wrong, the process, and the
// loops.
func (b *board) head() []string {
	var lines []string
	alarm := func(text string, most int) {
		wrapped := strings.Split(cells.Wrap(text, b.width, ""), "\n")
		if len(wrapped) > most {
			wrapped[most-1] = cut(strings.Join(wrapped[most-1:], " "), b.width)
			wrapped = wrapped[:most]
		}
		for _, line := range wrapped {
			lines = append(lines, b.red(strings.TrimRight(line, " ")))
		}
	}
	if b.ended {
		alarm(fmt.Sprintf("Process %d has ended; this is how it was last seen.", b.pid), 2)
	}
	if b.failed != nil {
		alarm("No newer picture: "+b.failed.Error(), 2)
	}
	if b.now == nil {
		if b.failed == nil && !b.ended {
			lines = append(lines, cut(fmt.Sprintf("process %d: looking ...", b.pid), b.width))
		}
		return b.shortened(lines)
	}
	if missing := b.now.picture.Missing; missing != "" {
		alarm(missing, 2)
	}
	for _, l := range b.now.loops {
		if l.Held != nil {
			alarm(l.alarm(), 3)
		}
	}
	if b.now.cycle != "" {
		alarm(b.now.cycle, 2)
	}
	lines = append(lines, b.title())
	whole := append(lines, b.gauges()...)
	if short := b.shortened(whole); len(short) > len(lines)+1 {
		return short
	}
	return b.shortened(lines)
}

// shortened leaves room for tasks.
func (b *board) shortened(lines []string) []string {
	most := b.height - least - 1 - len(b.caption())
	return lines[:min(len(lines), max(1, most))]
}

// alarm says who holds the loop.
func (g gauge) alarm() string {
	who := "a callback, or the loop itself,"
	for _, t := range g.Tasks {
		if t.ID == g.Held.Task {
			who = fmt.Sprintf("#%d %s", t.ID, t.Name)
		}
	}
	text := fmt.Sprintf("HELD: %s has held %s for %s: %s", who, g.Name, stretch(g.Held.For), g.Held.Advice)
	if i := slices.IndexFunc(g.Held.Stack, inspect.Frame.Own); i >= 0 {
		text += fmt.Sprintf(" (%s)", shortFunc(g.Held.Stack[i].Func))
	}
	return text
}

// title is the line about the process.
func (b *board) title() string {
	p := b.now.picture
	text := fmt.Sprintf("process %d, %s: %s in %s", b.pid, p.Go, plural(len(b.now.tasks), "task"), plural(len(p.Loops), "loop"))
	clock := p.Taken.Format(time.TimeOnly)
	if b.past.back > 0 {
		return b.reverse(pad(cut(fmt.Sprintf("%s ago, at %s: %s", stretch(b.past.ago()), clock, text), b.width), b.width, false))
	}
	if room := b.width - cells.StringWidth(text) - len(clock); room >= 2 {
		return b.bold(text) + strings.Repeat(" ", room) + clock
	}
	return b.bold(cut(text, b.width))
}

var gaugeColumns = []column{
	{title: "LOOP"}, {title: "TASKS", width: 7, right: true, from: 50}, {title: "CONNS", width: 7, right: true, from: 40}, {title: "SWITCH/S", width: 8, right: true},
	{title: "TURN/S", width: 7, right: true, from: 66}, {title: "BUSY", width: 4, right: true, from: 24}, {title: "LAG", width: 6, right: true, from: 30},
	{title: "READY", width: 7, right: true, from: 58}, {title: "TIMERS", width: 7, right: true, from: 72},
	{title: "OFFLOADS", width: 8, right: true, from: 88},
}

// gauges is the table of the loops.
func (b *board) gauges() []string {
	var rows [][]string
	for _, g := range b.now.loops {
		busy := "-"
		if g.known {
			busy = strconv.Itoa(int(100*g.busy+0.5)) + "%"
		}
		rows = append(rows, []string{
			g.Name, count(len(g.Tasks)), connections(g.Loop), rate(g.known, g.switches), rate(g.known, g.turns), busy, stretch(g.Lag),
			count(g.Ready), count(g.Timers), count(g.Offloads),
		})
	}
	lines := lay(gaugeColumns, rows, b.width)
	lines[0] = b.faint(lines[0])
	for i, g := range b.now.loops {
		if g.Held != nil {
			lines[1+i] = b.red(lines[1+i])
		}
	}
	return lines
}

// caption is what stands right above the rows, whatever the size.
func (b *board) caption() []string {
	var lines []string
	if b.height < 3 || b.now == nil {
		return nil
	}
	if b.open != (badge{}) {
		return []string{cut(b.detail.described(b.whereabouts()), b.width), b.faint(cut(b.detail.figures(), b.width))}
	}
	if b.typing || b.filter != "" {
		caret := ""
		if b.typing {
			caret = "_"
		}
		lines = append(lines, cut(fmt.Sprintf("/%s%s  %s of %s", b.filter, caret, count(len(b.rows)), count(len(b.now.tasks))), b.width))
	}
	return append(lines, b.bold(b.taskLines(nil)[0]))
}

// table is the caption and the tasks in sight.
func (b *board) table() []string {
	if b.now == nil {
		return nil
	}
	lines := b.caption()
	room := b.room()
	if len(b.rows) == 0 {
		if b.filter != "" {
			return append(lines, cut("no task matches; esc shows all", b.width))
		}
		return append(lines, cut("no task", b.width))
	}
	shown := b.rows[b.first:min(len(b.rows), b.first+room)]
	drawn := b.taskLines(shown)
	if n := len(lines); n > 0 {
		lines[n-1] = b.bold(drawn[0])
	}
	for i, line := range drawn[1:] {
		if b.first+i == b.cursor {
			line = b.reverse(pad(line, b.width, false))
		}
		lines = append(lines, line)
	}
	return lines
}

// taskLines returns the titles of the tasks' columns and then a line for each task.
func (b *board) taskLines(tasks []meter) []string {
	sorted := func(o order, title string) string {
		switch {
		case b.order != o:
			return title
		case b.reversed:
			return title + "▲"
		}
		return title + "▼"
	}
	// The column by which the tasks are sorted stays on a small terminal.
	wide := func(o order) int {
		if b.order == o {
			return 24
		}
		return 60
	}
	digits, several := 1, 0
	if b.now != nil {
		for _, l := range b.now.loops {
			if n := len(l.Tasks); n > 0 {
				digits = max(digits, len(strconv.FormatUint(l.Tasks[n-1].ID, 10)))
			}
		}
		if several = 1000; len(b.now.loops) > 1 {
			several = 90
		}
	}
	cs := []column{
		{title: "#", width: digits, right: true, from: 16}, {title: sorted(byBusy, "BUSY"), width: 5, right: true, from: wide(byBusy)},
		{title: sorted(bySwitches, "SWITCH/S"), width: 9, right: true, from: wide(bySwitches)},
		{title: sorted(byWait, "WAIT"), width: 6, right: true, from: wide(byWait)}, {title: sorted(byAge, "AGE"), width: 6, right: true, from: wide(byAge)},
		{title: "LOOP", from: several}, {title: "NAME"}, {title: "WAITS FOR"}, {title: "FUNCTION", from: 72},
	}
	rows := make([][]string, len(tasks))
	for i, m := range tasks {
		wait := "-"
		if m.Since > 0 {
			wait = stretch(m.Since)
		}
		rows[i] = []string{strconv.FormatUint(m.ID, 10), m.share(), rate(m.known, m.rate), wait, stretch(m.Age), m.loop.Name, m.Name, m.doing(), shortFunc(m.Func)}
	}
	return lay(cs, rows, b.width)
}

// share writes the share of the time that the task was charged with.
func (m meter) share() string {
	switch {
	case !m.known:
		return "-"
	case m.busy > 0 && m.busy < 0.0005:
		return "0.0%"
	}
	return strconv.FormatFloat(100*m.busy, 'f', 1, 64) + "%"
}

// doing says what the task waits for, or what it does instead.
func (m meter) doing() string {
	text := m.Waiting
	switch {
	case m.Moved:
		text = "(ran meanwhile)"
	case m.State != "waiting":
		text = "(" + m.State + ")"
	}
	if m.Cancelled {
		text = "cancelled; " + text
	}
	return text
}

// described is the line about the task whose stack is shown.
func (m meter) described(whereabouts string) string {
	return fmt.Sprintf("#%d %s: %s", m.ID, m.Name, cmp.Or(whereabouts, m.doing()))
}

// whereabouts says that the open task is not in the picture; "" if it is.
func (b *board) whereabouts() string {
	switch {
	case !b.gone:
		return ""
	case b.past.back > 0:
		return "is not in this picture"
	}
	return "has ended; this is how it was last seen"
}

// figures is the second line about that task.
func (m meter) figures() string {
	woken := ""
	if m.WokenBy != 0 {
		woken = fmt.Sprintf(", woken by #%d", m.WokenBy)
	}
	if m.Site != nil {
		woken += ", started by " + startedAt(m.Task)
	}
	return fmt.Sprintf("age %s, wait %s, busy %s, longest step %s, switches %s, %s/s%s, %s, loop %s",
		stretch(m.Age), stretch(m.Since), stretch(m.Busy), stretch(m.LongestStep), count(m.Switches), rate(m.known, m.rate), woken, m.Func, m.loop.Name)
}

// where is the caption and the lines of the stack in sight.
func (b *board) where() []string {
	stack := b.stack()
	shown := stack[b.scroll:max(b.scroll, min(len(stack), b.scroll+b.room()))]
	lines := b.caption()
	for _, line := range shown {
		lines = append(lines, cut(line, b.width))
	}
	return lines
}

// stack is where the open task stands, two lines for each call.
func (b *board) stack() []string {
	if b.open == (badge{}) {
		return nil
	}
	m := b.detail
	frames := m.Stack
	if !b.full {
		frames = slices.DeleteFunc(slices.Clone(frames), func(f inspect.Frame) bool { return !f.Own() })
	}
	var lines []string
	for _, f := range frames {
		lines = append(lines, "  "+f.Func, "    "+tail(fmt.Sprintf("%s:%d", f.File, f.Line), b.width-4))
	}
	switch {
	case len(m.Stack) > 0 && len(lines) == 0:
		lines = []string{"  no call of the program's own; f shows all"}
	case len(lines) > 0 && m.Cut:
		lines = append(lines, "  ... the outermost calls could not be read")
	case len(lines) == 0 && m.State == "new" && !m.Moved:
		lines = []string{"  it has not begun"}
	case len(lines) == 0 && b.past.back > 0:
		lines = []string{"  its stack was not read at that time"}
	case len(lines) == 0 && m.Moved:
		lines = []string{"  it runs too often to be seen at rest; looking again ..."}
	case len(lines) == 0 && !b.taking && !b.hasty:
		lines = []string{"  its stack could not be read"}
	case len(lines) == 0:
		lines = []string{"  looking ..."}
	}
	return lines
}

// help is the line of keys.
func (b *board) help() string {
	switch {
	case b.open != (badge{}) && b.full:
		return "q quit  esc back  f own calls"
	case b.open != (badge{}):
		return "q quit  esc back  f all calls"
	case b.typing:
		return "enter keep  esc drop  ctrl-u clear"
	}
	const keys = "q quit  enter stack  / filter"
	switch {
	case b.past.back > 0:
		return "← earlier  → later  n now  " + keys
	case b.width < 64:
		return keys + "  b s a w"
	}
	return keys + "  sort: b busy, s switches, a age, w wait  ← time"
}

func (b *board) red(text string) string {
	if !b.color {
		return b.bold(text)
	}
	return ansi.NewStyle().Bold().ForegroundColor(ansi.Red).Styled(text)
}

func (b *board) bold(text string) string { return ansi.NewStyle().Bold().Styled(text) }

func (b *board) faint(text string) string { return ansi.NewStyle().Faint().Styled(text) }

func (b *board) reverse(text string) string { return ansi.NewStyle().Reverse(true).Styled(text) }

package main

// The drawing of the screen. A frame is never wider or higher than the terminal,
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

func (s *screen) View() tea.View {
	v := tea.NewView(strings.Join(s.draw(), "\n"))
	v.AltScreen = true
	return v
}

// draw returns the lines of a frame.
func (s *screen) draw() []string {
	if s.height < 1 || s.width < 1 {
		return nil
	}
	lines, room := s.head(), s.room()
	if room > 0 {
		body := s.table()
		if s.times {
			body = s.timesTable()
		}
		if s.beside {
			body = s.besideTasks()
		}
		if s.open != (taskKey{}) {
			body = s.openTask()
		}
		lines = append(lines, body...)
	}
	if s.height >= 4 {
		for len(lines) < s.height-1 {
			lines = append(lines, "")
		}
		lines = append(lines, s.faint(cut(s.help(), s.width)))
	}
	return lines[:min(len(lines), s.height)]
}

// room is for how many tasks, or lines of a stack, there is room.
func (s *screen) room() int {
	rest := s.height - len(s.head()) - len(s.caption())
	if s.height >= 4 {
		rest-- // the keys
	}
	return rest
}

// head is what stands above the tasks: what is wrong, the process, and the
// loops.
func (s *screen) head() []string {
	var lines []string
	alarm := func(text string, most int) {
		wrapped := strings.Split(cells.Wrap(text, s.width, ""), "\n")
		if len(wrapped) > most {
			wrapped[most-1] = cut(strings.Join(wrapped[most-1:], " "), s.width)
			wrapped = wrapped[:most]
		}
		for _, line := range wrapped {
			lines = append(lines, s.red(strings.TrimRight(line, " ")))
		}
	}
	if s.ended {
		alarm(strings.ToUpper(s.name[:1])+s.name[1:]+" has ended; this is how it was last seen.", 2)
	}
	if s.failed != nil {
		alarm("No newer snapshot: "+s.failed.Error(), 2)
	}
	if s.now == nil {
		if s.failed == nil && !s.ended {
			lines = append(lines, cut(s.name+": looking ...", s.width))
		}
		return s.shortened(lines)
	}
	if missing := s.now.picture.Missing; missing != "" {
		alarm(missing, 2)
	}
	for _, v := range s.now.picture.Verdicts(0) {
		switch v.Kind {
		case inspect.VerdictStopped:
			alarm(v.String(), 2)
		case inspect.VerdictDeadlock, inspect.VerdictLate:
			alarm(v.Loop+": "+v.String(), 2)
		}
	}
	for _, l := range s.now.loops {
		if l.Held != nil {
			alarm(l.alarm(), 3)
		}
	}
	if s.now.cycle != "" {
		alarm(s.now.cycle, 2)
	}
	lines = append(lines, s.title())
	whole := slices.Concat(lines, s.loopTable(), s.servers())
	if short := s.shortened(whole); len(short) > len(lines)+1 {
		return short
	}
	return s.shortened(lines)
}

// mostServers is how many servers have a line above the tasks, if the terminal has room for
// some tasks too.
const mostServers = 3

// servers are the counters of servers, those with the most open connections first.
func (s *screen) servers() []string {
	if s.height < 8*least {
		return nil
	}
	var all []inspect.Server
	for _, g := range s.now.loops {
		all = append(all, g.Servers...)
	}
	slices.SortStableFunc(all, func(a, b inspect.Server) int { return cmp.Compare(b.Open, a.Open) })
	var lines []string
	for i, server := range all {
		if i == mostServers {
			lines[i-1] = cut(cut(lines[i-1], max(0, s.width-16))+fmt.Sprintf(", and %d more", len(all)-i), s.width)
			break
		}
		lines = append(lines, cut("server "+server.String(), s.width))
	}
	return lines
}

// shortened leaves room for tasks.
func (s *screen) shortened(lines []string) []string {
	most := s.height - least - 1 - len(s.caption())
	return lines[:min(len(lines), max(1, most))]
}

// alarm says who holds the loop.
func (g loopRates) alarm() string {
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
func (s *screen) title() string {
	p, tasks := s.now.picture, s.now.size
	for _, l := range p.Loops {
		tasks += l.Omitted
	}
	text := fmt.Sprintf("%s, %s: %s in %s", s.name, p.Go, plural(tasks, "task"), plural(len(p.Loops), "loop"))
	clock := p.Taken.Format(time.TimeOnly)
	if s.history.back > 0 {
		return s.reverse(pad(cut(fmt.Sprintf("%s ago, at %s: %s", stretch(s.history.ago()), clock, text), s.width), s.width, false))
	}
	if room := s.width - cells.StringWidth(text) - len(clock); room >= 2 {
		return s.bold(text) + strings.Repeat(" ", room) + clock
	}
	return s.bold(cut(text, s.width))
}

var loopColumns = []column{
	{title: "LOOP"}, {title: "TASKS", width: 9, right: true, from: 54}, {title: "CONNS", width: 9, right: true, from: 40}, {title: "SWITCH/S", width: 8, right: true},
	{title: "TURN/S", width: 7, right: true, from: 72}, {title: "BUSY", width: 4, right: true, from: 24}, {title: "LAG", width: 6, right: true, from: 30},
	{title: "READY", width: 9, right: true, from: 64}, {title: "TIMERS", width: 9, right: true, from: 80},
	{title: "OFFLOADS", width: 8, right: true, from: 92},
}

// loopTable is the table of the loops.
func (s *screen) loopTable() []string {
	var rows [][]string
	for _, g := range s.now.loops {
		busy := "-"
		if g.known {
			busy = strconv.Itoa(int(100*g.busy+0.5)) + "%"
		}
		rows = append(rows, []string{
			g.Name, count(len(g.tasks) + g.Omitted), connections(g.Loop), rate(g.known, g.switches), rate(g.known, g.turns), busy, stretch(g.Lag),
			count(g.Ready), count(g.Timers), count(g.Offloads),
		})
	}
	lines := lay(loopColumns, rows, s.width)
	lines[0] = s.faint(lines[0])
	for i, g := range s.now.loops {
		if g.Held != nil {
			lines[1+i] = s.red(lines[1+i])
		}
	}
	return lines
}

// caption is what stands right above the rows, whatever the size.
func (s *screen) caption() []string {
	var lines []string
	if s.height < 3 || s.now == nil || s.beside {
		return nil
	}
	if s.open != (taskKey{}) {
		lines = append(lines, cut(s.detail.described(s.absence()), s.width))
		figures := strings.Split(cells.Wrap(s.detail.figures(), s.width, " "), "\n")
		if most := max(1, min(mostFigures, s.height/6)); len(figures) > most {
			figures = append(figures[:most-1], cut(strings.Join(figures[most-1:], " "), s.width))
		}
		for _, line := range figures {
			lines = append(lines, s.faint(strings.TrimRight(line, " ")))
		}
		return lines
	}
	if s.typing || s.filter != "" {
		caret := ""
		if s.typing {
			caret = "_"
		}
		lines = append(lines, cut(fmt.Sprintf("/%s%s  %s of %s", s.filter, caret, count(len(s.rows)), count(s.now.size)), s.width))
	}
	return append(lines, s.bold(s.taskLines(nil)[0]))
}

// table is the caption and the tasks in sight.
func (s *screen) table() []string {
	if s.now == nil {
		return nil
	}
	lines := s.caption()
	room := s.room()
	if len(s.rows) == 0 {
		if s.filter != "" {
			return append(lines, cut("no task matches; esc shows all", s.width))
		}
		return append(lines, cut("no task", s.width))
	}
	var shown []taskRates
	for i := s.first; i < min(len(s.rows), s.first+room); i++ {
		shown = append(shown, s.row(i))
	}
	drawn := s.taskLines(shown)
	if n := len(lines); n > 0 {
		lines[n-1] = s.bold(drawn[0])
	}
	for i, line := range drawn[1:] {
		if s.first+i == s.cursor {
			line = s.reverse(pad(line, s.width, false))
		}
		lines = append(lines, line)
	}
	return lines
}

// taskLines returns the titles of the tasks' columns and then a line for each task.
func (s *screen) taskLines(tasks []taskRates) []string {
	sorted := func(o order, title string) string {
		switch {
		case s.order != o:
			return title
		case s.reversed:
			return title + "▲"
		}
		return title + "▼"
	}
	// The column by which the tasks are sorted stays on a small terminal.
	wide := func(o order) int {
		if s.order == o {
			return 24
		}
		return 60
	}
	digits, several := 1, 0
	if s.now != nil {
		for _, l := range s.now.loops {
			if n := len(l.tasks); n > 0 {
				digits = max(digits, len(strconv.FormatUint(l.tasks[n-1].ID, 10)))
			}
		}
		if several = 1000; len(s.now.loops) > 1 {
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
		rows[i] = []string{strconv.FormatUint(m.ID, 10), m.share(), rate(m.loop.known, float64(m.rate)), wait, stretch(m.Age), m.loop.Name, m.Name, m.doing(), shortFunc(m.Func)}
	}
	return lay(cs, rows, s.width)
}

// share writes the share of the time that the task was charged with.
func (m taskRates) share() string {
	switch {
	case !m.loop.known:
		return "-"
	case m.busy > 0 && m.busy < 0.0005:
		return "0.0%"
	}
	return strconv.FormatFloat(100*float64(m.busy), 'f', 1, 64) + "%"
}

// doing says what the task waits for, or what it does instead.
func (m taskRates) doing() string {
	if m.Cancelled {
		return "cancelled; " + m.Doing
	}
	return m.Doing
}

// described is the line about the task whose stack is shown.
func (m taskRates) described(absence string) string {
	return fmt.Sprintf("#%d %s: %s", m.ID, m.Name, cmp.Or(absence, m.doing()))
}

// absence says that the open task is not in the snapshot; "" if it is.
func (s *screen) absence() string {
	switch {
	case !s.gone:
		return ""
	case s.history.back > 0:
		return "is not in this snapshot"
	}
	return "has ended; this is how it was last seen"
}

// mostFigures is how many lines these have at most.
const mostFigures = 3

// figures is what stands below that line.
func (m detail) figures() string {
	step, woken := "", ""
	if t := m.task; t != nil {
		step = ", longest step " + stretch(t.LongestStep)
		if t.WokenBy != 0 {
			woken = fmt.Sprintf(", woken by #%d", t.WokenBy)
		}
		if t.Site != nil {
			woken += ", started by " + startedAt(t)
		}
	}
	return fmt.Sprintf("age %s, wait %s, busy %s%s, switches %s, %s/s%s, %s, loop %s",
		stretch(m.Age), stretch(m.Since), stretch(m.Busy), step, count(m.Switches), rate(m.loop.known, float64(m.rate)), woken, m.Func, m.loop.Name)
}

// openTask is the caption and the lines of the stack in sight.
func (s *screen) openTask() []string {
	stack := s.stack()
	shown := stack[s.scroll:max(s.scroll, min(len(stack), s.scroll+s.room()))]
	lines := s.caption()
	for _, line := range shown {
		lines = append(lines, cut(line, s.width))
	}
	return lines
}

// stack is where the open task stands, two lines for each call.
func (s *screen) stack() []string {
	if s.open == (taskKey{}) {
		return nil
	}
	m := s.detail
	var all []inspect.Frame
	isCut := false
	if m.task != nil {
		all, isCut = m.task.Stack, m.task.Cut
	}
	frames := all
	if !s.full {
		frames = slices.DeleteFunc(slices.Clone(frames), func(f inspect.Frame) bool { return !f.Own() })
	}
	var lines []string
	for _, f := range frames {
		lines = append(lines, "  "+f.Func, "    "+tail(fmt.Sprintf("%s:%d", f.File, f.Line), s.width-4))
	}
	switch {
	case len(all) > 0 && len(lines) == 0:
		lines = []string{"  no call of the program's own; f shows all"}
	case len(lines) > 0 && isCut:
		lines = append(lines, "  ... the outermost calls could not be read")
	case len(lines) == 0 && m.Doing == "(new)":
		lines = []string{"  it has not begun"}
	case len(lines) == 0 && s.history.back > 0:
		lines = []string{"  its stack was not read at that time"}
	case len(lines) == 0 && m.Moved:
		lines = []string{"  it runs too often to be seen at rest; looking again ..."}
	case len(lines) == 0 && !s.taking && !s.again:
		lines = []string{"  its stack could not be read"}
	case len(lines) == 0:
		lines = []string{"  looking ..."}
	}
	return lines
}

// help is the line of keys.
func (s *screen) help() string {
	switch {
	case s.open != (taskKey{}) && s.full:
		return "q quit  esc back  f own calls"
	case s.open != (taskKey{}):
		return "q quit  esc back  f all calls"
	case s.beside && s.full:
		return "q quit  g tasks  f own calls"
	case s.beside:
		return "q quit  g tasks  f all calls"
	case s.times:
		return "q quit  t tasks  last 10 s; bars from 1µs to 1s and more"
	case s.typing:
		return "enter keep  esc drop  ctrl-u clear"
	}
	const keys = "q quit  enter stack  / filter"
	switch {
	case s.history.back > 0:
		return "← earlier  → later  n now  " + keys
	case s.width < 64:
		return keys + "  b s a w"
	}
	return keys + "  g goroutines  t times  ← earlier  sort b s a w"
}

func (s *screen) red(text string) string {
	if !s.color {
		return s.bold(text)
	}
	return ansi.NewStyle().Bold().ForegroundColor(ansi.Red).Styled(text)
}

func (s *screen) bold(text string) string { return ansi.NewStyle().Bold().Styled(text) }

func (s *screen) faint(text string) string { return ansi.NewStyle().Faint().Styled(text) }

func (s *screen) reverse(text string) string { return ansi.NewStyle().Reverse(true).Styled(text) }

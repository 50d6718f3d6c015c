package main

// This file has the board, which is what rondo top shows: its state, and what
// pictures, keys and the size of the terminal do to it. It asks for one picture
// at a time, and for stacks only while it shows one.

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/rondo-go/rondo/inspect"
)

// An order is by what the tasks are sorted.
type order int

const (
	byBusy order = iota
	bySwitches
	byAge
	byWait
)

// A badge names a task among those of all loops.
type badge struct{ loop, task uint64 }

// A board is always fit to be drawn: rows are the tasks to be shown in order,
// cursor is one of them if there is any, and first is such that the cursor is in
// sight.
type board struct {
	pid   int
	every time.Duration
	color bool
	take  func(task uint64) shot

	width, height int

	before *inspect.Picture
	past   past
	now    *reading // the one that is shown; nil before the first picture
	failed error    // why there is no newer picture
	ended  bool     // the process has ended, and now is the last picture

	taking bool // a picture is being taken
	turn   int  // counts the pictures, so that a late tick is not taken for the next
	hasty  bool // another one is wanted as soon as this one is there

	order    order
	reversed bool
	typing   bool // keys go to the filter
	filter   string
	rows     []meter
	cursor   int
	first    int   // the uppermost row in sight
	held     badge // the task that the cursor follows; zero until it is moved

	open   badge // the task whose stack is shown; zero if none is
	full   bool
	scroll int
	detail meter // the open task, as it was seen last
	gone   bool  // it has ended
}

func newBoard(pid int, every time.Duration, color bool, take func(task uint64) shot) *board {
	return &board{pid: pid, every: every, color: color, take: take, width: 80, height: 24}
}

// tick says that it is time for a picture, if none was taken since that turn.
type tick int

func (b *board) Init() tea.Cmd { return b.shoot() }

// shoot has a picture taken.
func (b *board) shoot() tea.Cmd {
	if b.taking || b.ended {
		b.hasty = b.taking
		return nil
	}
	b.taking, b.hasty = true, false
	b.turn++
	take, task := b.take, b.open.task
	if b.past.back > 0 {
		task = 0
	}
	return func() tea.Msg { return take(task) }
}

func (b *board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var c tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.width, b.height = msg.Width, msg.Height
	case tick:
		if int(msg) == b.turn {
			c = b.shoot()
		}
	case shot:
		c = b.develop(msg)
	case tea.KeyPressMsg:
		c = b.press(msg)
	case tea.PasteMsg:
		if b.typing {
			b.search(b.filter + strings.Map(shown, msg.Content))
		}
	}
	b.settle()
	return b, c
}

// develop takes over a picture, and sees to the next.
func (b *board) develop(s shot) tea.Cmd {
	b.taking = false
	switch {
	case s.err == nil && s.picture != nil:
		first := b.now == nil
		b.failed = nil
		b.past.keep(measure(b.before, s.picture))
		b.before = s.picture
		if r := b.past.shown(); r != b.now {
			b.show()
		}
		if first {
			// Rates take two pictures: the second comes soon.
			return b.later(min(b.every, quickest))
		}
	case s.ended:
		b.failed, b.ended, b.hasty = nil, true, false
		return nil
	default:
		b.failed = s.err
	}
	if b.hasty {
		return b.shoot()
	}
	// However many tasks there are, it looks a fifth of the time at most.
	return b.later(max(b.every, 4*s.took))
}

// later has a picture taken after a while.
func (b *board) later(d time.Duration) tea.Cmd {
	turn := tick(b.turn)
	return tea.Tick(d, func(time.Time) tea.Msg { return turn })
}

// inspect finds the open task in the picture.
func (b *board) inspect() {
	if b.open == (badge{}) {
		return
	}
	i := slices.IndexFunc(b.now.tasks, func(m meter) bool { return m.badge() == b.open })
	if b.gone = i < 0; b.gone {
		return
	}
	last := b.detail
	b.detail = b.now.tasks[i]
	if b.detail.Moved && last.Task != nil && last.badge() == b.open && b.detail.Stack == nil {
		// What is known of where it stood stays until more is known.
		moved := *b.detail.Task
		moved.Stack, moved.Cut = last.Stack, last.Cut
		b.detail.Task = &moved
	}
}

func (m meter) badge() badge { return badge{m.loop.ID, m.ID} }

// arrange makes the rows of the picture, and keeps the cursor on its task.
func (b *board) arrange() {
	b.rows = b.rows[:0]
	if b.now == nil {
		return
	}
	text := strings.ToLower(b.filter)
	for _, m := range b.now.tasks {
		if text == "" || m.has(text) {
			b.rows = append(b.rows, m)
		}
	}
	slices.SortFunc(b.rows, func(x, y meter) int {
		c := 0
		switch b.order {
		case byBusy:
			c = cmp.Or(cmp.Compare(y.busy, x.busy), cmp.Compare(y.rate, x.rate))
		case bySwitches:
			c = cmp.Compare(y.rate, x.rate)
		case byAge:
			c = cmp.Compare(y.Age, x.Age)
		case byWait:
			c = cmp.Compare(y.Since, x.Since)
		}
		if b.reversed {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(x.loop.ID, y.loop.ID), cmp.Compare(x.ID, y.ID))
	})
	if b.held != (badge{}) {
		if i := slices.IndexFunc(b.rows, func(m meter) bool { return m.badge() == b.held }); i >= 0 {
			b.cursor = i
		}
	}
}

// has reports whether the text, in small letters, occurs in the task's row.
func (m meter) has(text string) bool {
	for _, s := range []string{m.Name, m.doing(), shortFunc(m.Func), "#" + strconv.FormatUint(m.ID, 10)} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

// settle brings the cursor and what is in sight within their bounds.
func (b *board) settle() {
	b.cursor = max(0, min(b.cursor, len(b.rows)-1))
	room := max(1, b.room())
	b.first = max(0, min(b.first, b.cursor, len(b.rows)-room))
	b.first = max(b.first, b.cursor-room+1)
	b.scroll = max(0, min(b.scroll, len(b.stack())-room))
}

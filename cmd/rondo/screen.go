package main

// The screen of rondo top changes with snapshots, keys and the size of the terminal. It asks
// for one snapshot at a time, and for stacks only while it shows one.

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

// A taskKey identifies a task among those of all loops.
type taskKey struct{ loop, task uint64 }

// A screen is always fit to be drawn: rows are the tasks to be shown in order,
// cursor is one of them if there is any, and first is such that the cursor is in
// sight.
type screen struct {
	name  string // of what is looked at
	every time.Duration
	color bool
	take  func(w wish) snapshot

	width, height int

	before  *reading
	history history
	now     *reading // the one that is shown; nil before the first snapshot
	failed  error    // why there is no newer snapshot
	ended   bool     // the process has ended, and now is the last snapshot

	taking bool // a snapshot is being taken
	turn   int  // counts the snapshots, so that a late tick is not taken for the next
	again  bool // another one is wanted as soon as this one is there

	order    order
	reversed bool
	typing   bool // keys go to the filter
	filter   string
	rows     []int32 // places of tasks in now
	cursor   int
	first    int     // the uppermost row in sight
	held     taskKey // the task that the cursor follows; zero until it is moved

	times  bool     // the times of steps are shown in place of tasks
	beside bool     // the goroutines that run no task are, in place of both
	lines  []string // what is said of them

	open   taskKey // the task whose stack is shown; zero if none is
	full   bool
	scroll int
	detail detail // the open task, as it was seen last
	gone   bool   // it has ended
}

func newScreen(name string, every time.Duration, color bool, take func(w wish) snapshot) *screen {
	return &screen{name: name, every: every, color: color, take: take, width: 80, height: 24}
}

// tick says that it is time for a snapshot, if none was taken since that turn.
type tick int

func (s *screen) Init() tea.Cmd { return s.request() }

// request has a snapshot taken.
func (s *screen) request() tea.Cmd {
	if s.taking || s.ended {
		s.again = s.taking
		return nil
	}
	s.taking, s.again = true, false
	s.turn++
	take, w := s.take, wish{s.open.task, s.times, s.beside}
	if s.history.back > 0 {
		w.task = 0
	}
	return func() tea.Msg { return take(w) }
}

func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var c tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
	case tick:
		if int(msg) == s.turn {
			c = s.request()
		}
	case snapshot:
		c = s.receive(msg)
	case tea.KeyPressMsg:
		c = s.press(msg)
	case tea.PasteMsg:
		if s.typing {
			s.search(s.filter + strings.Map(shown, msg.Content))
		}
	}
	s.clamp()
	return s, c
}

// receive takes over a snapshot, and sees to the next.
func (s *screen) receive(p snapshot) tea.Cmd {
	s.taking = false
	switch {
	case p.err == nil && p.picture != nil:
		first := s.now == nil
		s.failed = nil
		s.before = measure(s.before, p.picture)
		s.history.keep(s.before)
		if r := s.history.shown(); r != s.now {
			s.show()
		}
		if first {
			// Rates take two snapshots: the second comes soon.
			return s.later(min(s.every, quickest))
		}
	case p.ended:
		s.failed, s.ended, s.again = nil, true, false
		return nil
	default:
		s.failed = p.err
	}
	if s.again {
		return s.request()
	}
	// However many tasks there are, it looks a fifth of the time at most.
	return s.later(max(s.every, 4*p.took))
}

// later has a snapshot taken after a while.
func (s *screen) later(d time.Duration) tea.Cmd {
	turn := tick(s.turn)
	return tea.Tick(d, func(time.Time) tea.Msg { return turn })
}

// findOpen finds the open task in the snapshot.
func (s *screen) findOpen() {
	if s.open == (taskKey{}) {
		return
	}
	i := s.now.place(s.open)
	if s.gone = i < 0; s.gone {
		return
	}
	last := s.detail
	s.detail = s.now.detail(int32(i))
	if now := s.detail.task; s.detail.Moved && last.task != nil && last.key() == s.open && now != nil && now.Stack == nil {
		// What is known of where it stood stays until more is known.
		moved := *now
		moved.Stack, moved.Cut = last.task.Stack, last.task.Cut
		s.detail.task = &moved
	}
}

// A detail is a task of which more is shown.
type detail struct {
	taskRates
	task *inspect.Task // nil if it was read in short only
}

func (r *reading) detail(at int32) detail {
	m := r.task(int(at))
	return detail{m, m.whole()}
}

// row returns the task of a row.
func (s *screen) row(i int) taskRates { return s.now.task(int(s.rows[i])) }

func (m taskRates) key() taskKey { return taskKey{m.loop.ID, m.ID} }

// sortRows makes the rows of the snapshot, and keeps the cursor on its task.
func (s *screen) sortRows() {
	s.rows = s.rows[:0]
	if s.now == nil {
		return
	}
	text := strings.ToLower(s.filter)
	s.rows = slices.Grow(s.rows, s.now.size)
	for i := range s.now.size {
		if text == "" || s.now.task(i).has(text) {
			s.rows = append(s.rows, int32(i))
		}
	}
	slices.SortFunc(s.rows, func(i, j int32) int {
		x, y := s.now.task(int(i)), s.now.task(int(j))
		c := 0
		switch s.order {
		case byBusy:
			c = cmp.Or(cmp.Compare(y.busy, x.busy), cmp.Compare(y.rate, x.rate))
		case bySwitches:
			c = cmp.Compare(y.rate, x.rate)
		case byAge:
			c = cmp.Compare(y.Age, x.Age)
		case byWait:
			c = cmp.Compare(y.Since, x.Since)
		}
		if s.reversed {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(i, j))
	})
	if s.held != (taskKey{}) {
		if i := slices.Index(s.rows, int32(s.now.place(s.held))); i >= 0 {
			s.cursor = i
		}
	}
}

// has reports whether the text, in small letters, occurs in the task's row.
func (m taskRates) has(text string) bool {
	for _, s := range []string{m.Name, m.doing(), shortFunc(m.Func), "#" + strconv.FormatUint(m.ID, 10)} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}

// clamp brings the cursor and what is in sight within their bounds.
func (s *screen) clamp() {
	s.cursor = max(0, min(s.cursor, len(s.rows)-1))
	room := max(1, s.room())
	s.first = max(0, min(s.first, s.cursor, len(s.rows)-room))
	s.first = max(s.first, s.cursor-room+1)
	s.scroll = max(0, min(s.scroll, len(s.stack())+len(s.lines)-room))
}

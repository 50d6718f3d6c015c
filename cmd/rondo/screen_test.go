package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/rondo-go/rondo/inspect"
)

// pictured is a small program as it is seen n seconds after the first snapshot.
func pictured(n int) *inspect.Program {
	after := time.Duration(n) * time.Second
	l := &inspect.Loop{
		ID: 1, Name: "chat", Uptime: 90*time.Minute + after, Idle: 80*time.Minute + after/4, Turns: 1000 + 200*uint64(n), Switches: 9000 + 12345*uint64(n),
		Lag: 1200 * time.Microsecond, Ready: 3, Timers: 2, Offloads: 1, Running: 4, Conns: new(1234), Exact: true,
	}
	l.Busy = l.Uptime - l.Idle
	l.Servers = []inspect.Server{{Name: "10.0.0.1:7777", Accepted: 2000 + 10*int64(n), Open: 1234, RefusedByRate: int64(n), Panics: 1, Errors: 1}}
	l.Tasks = []*inspect.Task{
		{ID: 1, Name: "main", Func: "main.run", State: "waiting", Waiting: "group", Age: l.Uptime, Since: l.Uptime, Switches: 1},
		{ID: 2, Name: "conn [2001:db8::1]:58374", Func: "example.org/chat/room.(*Room).serve", State: "waiting", Waiting: "read fd 12 [2001:db8::1]:58374",
			Age: 20*time.Minute + after, Since: 3 * time.Millisecond, Switches: 100 + 11*uint64(n)},
		{ID: 3, Name: "部屋の掃除をするタスク", Func: "main.sweep", State: "waiting", Waiting: "sleep 4.2s", Age: 50*time.Minute + after, Since: 800 * time.Millisecond, Switches: 70 + 2*uint64(n)},
		{ID: 4, Name: "fan-out", Func: "main.fanOut", State: "running", Age: 10*time.Minute + after, Switches: 5000 + 12000*uint64(n)},
		{ID: 5, Name: "leaving", Func: "main.leave", State: "ready", Cancelled: true, Age: time.Second, Switches: 3},
		{ID: 6, Name: "busy", Func: "main.busy", State: "waiting", Moved: true, Age: 3 * 24 * time.Hour, Switches: 900 + 330*uint64(n)},
	}
	return &inspect.Program{PID: 4711, Go: "go1.26.8", Taken: time.Date(2026, 1, 2, 15, 4, 5+n, 0, time.UTC), Loops: []*inspect.Loop{l}}
}

// A testScreen is a screen, and records what it asks for.
type testScreen struct {
	*screen
	t     *testing.T
	asked []uint64 // the task of each snapshot that was asked for
	last  wish     // what was wished for last
	next  snapshot
}

func newTestScreen(t *testing.T, width, height int) *testScreen {
	s := &testScreen{t: t}
	s.screen = newScreen("process 4711", time.Second, true, func(w wish) snapshot {
		s.asked, s.last = append(s.asked, w.task), w
		return s.next
	})
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// give gives the screen a snapshot that it has asked for.
func (s *testScreen) give(p *inspect.Program) tea.Cmd {
	s.t.Helper()
	if !s.taking {
		s.Update(tick(s.turn))
	}
	_, c := s.Update(snapshot{picture: p, took: time.Millisecond})
	return c
}

var namedKeys = map[string]tea.Key{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"backspace": {Code: tea.KeyBackspace}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
}

// keys presses them, each in one word or a character.
func (s *testScreen) keys(words ...string) (c tea.Cmd) {
	for _, w := range words {
		k, ok := namedKeys[w]
		if !ok {
			k = tea.Key{Code: []rune(w)[0], Text: w}
		}
		_, c = s.Update(tea.KeyPressMsg(k))
	}
	return c
}

// frame is what is seen, without colours.
func (s *testScreen) frame() string {
	s.t.Helper()
	text := s.View().Content
	for i, line := range strings.Split(text, "\n") {
		if w := cells.StringWidth(line); w > s.width {
			s.t.Errorf("%dx%d: line %d is %d wide: %s", s.width, s.height, i+1, w, line)
		}
	}
	if n := strings.Count(text, "\n") + 1; n > s.height {
		s.t.Errorf("%dx%d: %d lines", s.width, s.height, n)
	}
	lines := strings.Split(ansi.Strip(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// names returns the tasks in sight, the uppermost first, the one under the cursor in
// brackets.
func (s *testScreen) names() string {
	var out []string
	for i := s.first; i < min(len(s.rows), s.first+s.room()); i++ {
		name, _, _ := strings.Cut(s.row(i).Name, " ")
		if i == s.cursor {
			name = "[" + name + "]"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// held is the program while a task holds its loop.
func held(n int) *inspect.Program {
	p := pictured(n)
	l := p.Loops[0]
	l.Lag = 3200 * time.Millisecond
	l.Idle = pictured(n - 1).Loops[0].Idle
	l.Busy = l.Uptime - l.Idle
	l.Held = &inspect.Held{Task: 4, For: l.Lag, How: "computing", Advice: "it is computing; call rondo.Yield from time to time, or use Offload",
		Stack: []inspect.Frame{{Func: "main.fanOut", File: "/src/chat/main.go", Line: 71}}}
	return p
}

var stack = []inspect.Frame{
	{Func: "runtime.gopark", File: "/usr/local/go/src/runtime/proc.go", Line: 460},
	{Func: "github.com/rondo-go/rondo.Sleep", File: "/go/pkg/mod/github.com/rondo-go/rondo@v1/timer.go", Line: 31},
	{Func: "main.sweep", File: "/home/somebody/src/example.org/chat/cmd/chat/rooms/sweep.go", Line: 42},
}

// TestFrames: the frames of the screen, and on a narrow one those that lay themselves out anew
// there. Of states that differ in a line, that line.
func TestFrames(t *testing.T) {
	var all strings.Builder
	draw := func(name string, width, height int, act func(s *testScreen)) {
		s := newTestScreen(t, width, height)
		s.Init()
		act(s)
		fmt.Fprintf(&all, "-- %s --\n%s", name, s.frame())
	}
	scene := func(name string, act func(s *testScreen)) { draw(name, 80, 16, act) }
	says := func(want string, act func(s *testScreen)) {
		s := newTestScreen(t, 80, 16)
		s.Init()
		if act(s); !strings.Contains(s.frame(), want) {
			t.Errorf("%q is not in\n%s", want, s.frame())
		}
	}
	both := func(name string, act func(s *testScreen)) {
		scene(name, act)
		draw(name+", narrow", 40, 10, act)
	}
	scene("before the first snapshot", func(s *testScreen) {})
	scene("the first snapshot", func(s *testScreen) { s.give(pictured(0)) })
	twice := func(s *testScreen) { s.give(pictured(0)); s.give(pictured(1)) }
	both("the second", twice)
	scene("the youngest first", func(s *testScreen) { twice(s); s.keys("a", "a") })
	says("\n/Con_  1 of 6\n", func(s *testScreen) { twice(s); s.keys("/", "C", "o", "n") })
	says("\nno task matches; esc shows all\n", func(s *testScreen) { twice(s); s.keys("/", "x", "y", "enter") })
	both("held", func(s *testScreen) { twice(s); s.give(held(2)) })
	both("two loops", func(s *testScreen) {
		p := pictured(1)
		p.Loops = append(p.Loops, &inspect.Loop{ID: 2, Name: "second", Uptime: time.Second, Tasks: []*inspect.Task{{ID: 1, Name: "main", State: "new"}}})
		s.give(pictured(0))
		s.give(p)
	})
	says("Process 4711 has ended; this is how it was last seen.\nprocess 4711, go1.26.8: 6 tasks", func(s *testScreen) {
		twice(s)
		s.Update(tick(s.turn))
		s.Update(snapshot{ended: true})
	})
	says("No newer snapshot: a page could not be read\nprocess 4711, go1.26.8: 6 tasks", func(s *testScreen) {
		twice(s)
		s.Update(tick(s.turn))
		s.Update(snapshot{err: errors.New("a page could not be read")})
	})
	onStack := func(s *testScreen) {
		twice(s)
		s.keys("/", "s", "w", "e", "e", "p", "enter", "enter")
		p := pictured(2)
		p.Loops[0].Tasks[2].Stack = stack
		s.give(p)
	}
	both("a stack", onStack)
	scene("the full stack", func(s *testScreen) { onStack(s); s.keys("f", "down") })
	says("has ended; this is how it was last seen\nage 50m2s, wait 800ms, busy 0s, longest step 0s, switches 74, 2.0/s, main.sweep,\nloop chat\n  main.sweep\n", func(s *testScreen) {
		onStack(s)
		p := pictured(3)
		p.Loops[0].Tasks = p.Loops[0].Tasks[:2]
		s.give(p)
	})
	scene("a second ago", func(s *testScreen) { twice(s); s.give(pictured(2)); s.keys("left") })
	both("times", func(s *testScreen) {
		twice(s)
		if c := s.keys("t"); c == nil || c() == nil || !s.last.times {
			s.t.Error("the times are not asked for")
		}
		p := pictured(2)
		f := inspect.FlightLoop{Steps: []inspect.FlightStep{
			{Task: 4, Name: "fan-out #4", Kind: "main.fanOut", To: 80 * time.Millisecond, Woken: true, Ready: time.Microsecond},
			{Task: 2, Name: "conn #2", Kind: "room.(*Room).serve", From: 80 * time.Millisecond, To: 81 * time.Millisecond, Woken: true, Ready: 70 * time.Millisecond},
		}}
		p.Loops[0].Times = f.Times()
		s.give(p)
	})
	beside := func(s *testScreen) {
		twice(s)
		if c := s.keys("g"); c == nil || c() == nil || !s.last.goroutines {
			s.t.Error("the goroutines are not asked for")
		}
		p := pictured(2)
		for i := range uint64(3) {
			p.Goroutines = append(p.Goroutines, &inspect.Goroutine{ID: 20 + i, State: "chan receive", Func: "main.worker", Stack: []inspect.Frame{
				{Func: "runtime.gopark", File: "/usr/local/go/src/runtime/proc.go", Line: 460}, {Func: "main.worker", File: "/src/chat/work.go", Line: 7},
			}, Site: &inspect.Frame{Func: "main.main", File: "/src/chat/main.go", Line: 12}})
		}
		p.Goroutines = append(p.Goroutines, &inspect.Goroutine{ID: 2, State: "force gc (idle)", Func: "runtime.forcegchelper", Kind: inspect.GoroutineRuntime})
		s.give(p)
	}
	both("goroutines", beside)
	scene("all calls of goroutines", func(s *testScreen) { beside(s); s.keys("f", "down") })
	says("\nlooking ...\n", func(s *testScreen) { twice(s); s.keys("g") })
	says("\nthe goroutines were not read at that time\n", func(s *testScreen) { beside(s); s.keys("h") })
	says("\n4  0.0%    12,000      -  10m2s fan-out", func(s *testScreen) { beside(s); s.keys("g") })
	says("\n  its stack was not read at that time\n", func(s *testScreen) { onStack(s); s.keys("h") })
	golden(t, "top.txt", all.String())
}

// Every size is drawn within its bounds, in all states.
func TestFramesOfAllSizes(t *testing.T) {
	widths, heights := 3, 3 // the next size is larger by as many parts
	if testing.Short() {
		widths, heights = 1, 1
	}
	for width := 1; width <= 130; width += 1 + width/widths {
		for height := 1; height <= 30; height += 1 + height/heights {
			s := newTestScreen(t, width, height)
			s.Init()
			s.frame()
			s.give(pictured(0))
			for _, key := range []string{"w", "down", "end", "t", "t", "/", "a", "enter", "enter", "f", "left", "end", "esc", "esc", "g", "f", "end", "g", "h", "n"} {
				s.keys(key)
				s.frame()
				p := held(1)
				p.Loops[0].Tasks[2].Stack = stack
				s.give(p)
				if text := s.frame(); height >= 2 && strings.TrimSpace(text) == "" {
					t.Errorf("%dx%d: an empty frame", width, height)
				}
			}
			s.Update(tick(s.turn))
			s.Update(snapshot{ended: true})
			s.frame()
			// A terminal that shrinks keeps the cursor in sight.
			s.keys("end")
			s.Update(tea.WindowSizeMsg{Width: 20, Height: 8})
			if !strings.Contains(s.names(), "[") {
				t.Errorf("the cursor is out of sight: %s", s.names())
			}
		}
	}
}

// TestFrameOfPart: of a program with more tasks than were read the screen counts all.
func TestFrameOfPart(t *testing.T) {
	p := pictured(0)
	p.Loops[0].Omitted = 150_000 - len(p.Loops[0].Tasks)
	s := newTestScreen(t, 80, 24)
	s.Init()
	s.give(p)
	if text := s.frame(); strings.Count(text, "150,000") != 2 {
		t.Errorf("the program and its loop have 150,000 tasks:\n%s", text)
	}
}

// TestFrameOfManyServers: the line that counts the servers for which there is no room fits, too.
func TestFrameOfManyServers(t *testing.T) {
	p := pictured(0)
	p.Loops[0].Servers = slices.Repeat(p.Loops[0].Servers, mostServers+1)
	for width := 1; width < 60; width++ {
		s := newTestScreen(t, width, 24)
		s.Init()
		s.give(p)
		s.frame()
	}
}

func TestBoardSorts(t *testing.T) {
	s := newTestScreen(t, 80, 24)
	s.give(pictured(0))
	later := pictured(1)
	later.Loops[0].Tasks[0].Busy, later.Loops[0].Tasks[1].Busy = 10*time.Millisecond, 400*time.Millisecond
	s.give(later)
	for _, step := range []struct{ key, want string }{
		{"", "[conn] main fan-out busy 部屋の掃除をするタスク leaving"},
		{"s", "[fan-out] busy conn 部屋の掃除をするタスク main leaving"},
		{"s", "[main] leaving 部屋の掃除をするタスク conn busy fan-out"},
		{"a", "[busy] main 部屋の掃除をするタスク conn fan-out leaving"},
		{"a", "[leaving] fan-out conn 部屋の掃除をするタスク main busy"},
		{"a", "[busy] main 部屋の掃除をするタスク conn fan-out leaving"},
		{"w", "[main] 部屋の掃除をするタスク conn fan-out leaving busy"},
		{"s", "[fan-out] busy conn 部屋の掃除をするタスク main leaving"},
		{"b", "[conn] main fan-out busy 部屋の掃除をするタスク leaving"},
	} {
		if step.key != "" {
			s.keys(step.key)
		}
		if got := s.names(); got != step.want {
			t.Errorf("after %q: %s, want %s", step.key, got, step.want)
		}
	}
}

// The cursor follows its task when the order changes, and stays at the top if it
// has not left it.
func TestBoardMoves(t *testing.T) {
	s := newTestScreen(t, 80, 8) // room for three
	s.give(pictured(0))
	s.give(pictured(1))
	for _, step := range []struct{ keys, want string }{
		{"", "[fan-out] busy conn"},
		{"up", "[fan-out] busy conn"},
		{"down", "fan-out [busy] conn"},
		{"a", "[busy] main 部屋の掃除をするタスク"},
		{"j j", "busy main [部屋の掃除をするタスク]"},
		{"down", "main 部屋の掃除をするタスク [conn]"},
		{"s", "busy [conn] 部屋の掃除をするタスク"},
		{"pgdown", "conn 部屋の掃除をするタスク [main]"},
		{"end", "部屋の掃除をするタスク main [leaving]"},
		{"down", "部屋の掃除をするタスク main [leaving]"},
		{"k", "部屋の掃除をするタスク [main] leaving"},
		{"pgup", "[conn] 部屋の掃除をするタスク main"},
		{"home", "[fan-out] busy conn"},
		{"s", "[main] leaving 部屋の掃除をするタスク"},
	} {
		s.keys(strings.Fields(step.keys)...)
		if got := s.names(); got != step.want {
			t.Fatalf("after %q: %s, want %s", step.keys, got, step.want)
		}
	}
	// A task that has ended leaves the cursor where it was.
	s.keys("s", "down")
	p := pictured(2)
	p.Loops[0].Tasks = p.Loops[0].Tasks[:5]
	s.give(p)
	if got := s.names(); got != "fan-out [conn] 部屋の掃除をするタスク" {
		t.Errorf("without the task under the cursor: %s", got)
	}
}

func TestBoardFilters(t *testing.T) {
	s := newTestScreen(t, 80, 24)
	s.give(pictured(0))
	s.give(pictured(1))
	for _, step := range []struct{ keys, want string }{
		{"/", "[fan-out] busy conn 部屋の掃除をするタスク main leaving"},
		{"F A N", "[fan-out]"}, // a name, in small letters or not
		{"backspace backspace backspace", "[fan-out] busy conn 部屋の掃除をするタスク main leaving"},
		{"r o o m", "[conn]"}, // a function
		{"ctrl+u 屋", "[部屋の掃除をするタスク]"},
		{"ctrl+u # 1", "[main]"},
		{"ctrl+u q", ""},
		{"ctrl+u c a n c", "[leaving]"}, // a state
		{"ctrl+u a d down", "conn [leaving]"},
		{"enter down j", "conn [leaving]"},
		{"/ backspace", "fan-out busy conn 部屋の掃除をするタスク main [leaving]"}, // main has an a
		{"esc", "fan-out busy conn 部屋の掃除をするタスク main [leaving]"},
		{"/ x enter", ""},
		{"enter esc", "fan-out busy conn 部屋の掃除をするタスク main [leaving]"}, // followed all along
	} {
		s.keys(strings.Fields(step.keys)...)
		if got := s.names(); got != step.want {
			t.Fatalf("after %q: %s, want %s; the filter is %q", step.keys, got, step.want, s.filter)
		}
	}
	s.keys("/")
	s.Update(tea.PasteMsg{Content: "swe\n\x1bep"})
	if s.filter != "sweep" || s.names() != "[部屋の掃除をするタスク]" {
		t.Errorf("pasted: the filter is %q", s.filter)
	}
}

func TestBoardQuits(t *testing.T) {
	quits := func(c tea.Cmd) bool {
		if c == nil {
			return false
		}
		_, ok := c().(tea.QuitMsg)
		return ok
	}
	s := newTestScreen(t, 80, 24)
	if !quits(s.keys("q")) || !quits(s.keys("ctrl+c")) {
		t.Error("q or Ctrl-C before the first snapshot does not quit")
	}
	s.give(pictured(0))
	s.keys("/")
	if quits(s.keys("q")) || !quits(s.keys("ctrl+c")) {
		t.Error("while the filter is typed q is a letter, and Ctrl-C quits")
	}
	s.keys("esc", "enter")
	if !quits(s.keys("q")) || !quits(s.keys("ctrl+c")) {
		t.Error("q or Ctrl-C does not quit from a stack")
	}
}

// It asks for one snapshot at a time, and for a stack only while it shows one.
func TestBoardAsks(t *testing.T) {
	s := newTestScreen(t, 80, 24)
	run := func(c tea.Cmd) {
		t.Helper()
		if c == nil {
			t.Fatal("it does not ask for a snapshot")
		}
		s.next = snapshot{picture: pictured(len(s.asked)), took: time.Microsecond}
		_, c = s.Update(c())
		if c == nil {
			t.Fatal("it does not wait for the next snapshot")
		}
	}
	ask := func(msg tea.Msg) tea.Cmd { _, c := s.Update(msg); return c }
	first := s.Init()
	if ask(tick(s.turn)) != nil {
		t.Error("it asks for a snapshot while one is taken")
	}
	// That it was asked meanwhile is not forgotten, and not done twice.
	s.next = snapshot{picture: pictured(0)}
	_, c := s.Update(first())
	if c == nil || ask(tick(s.turn-1)) != nil {
		t.Error("a tick that is late counts")
	}
	run(ask(tick(s.turn)))
	run(s.keys("down", "enter"))
	run(ask(tick(s.turn)))
	s.keys("esc")
	run(ask(tick(s.turn)))
	if want := "[0 0 6 6 0]"; fmt.Sprint(s.asked) != want {
		t.Errorf("it asked for the stacks of %v, want %s", s.asked, want)
	}
	// The process ends.
	c = ask(tick(s.turn))
	s.next = snapshot{ended: true}
	if _, c := s.Update(c()); c != nil || ask(tick(s.turn)) != nil || s.keys("enter") != nil {
		t.Error("it asks for snapshots of a process that has ended")
	}
}

// While a snapshot is taken another may be asked for, with a stack: it comes right
// after.
func TestBoardHastens(t *testing.T) {
	s := newTestScreen(t, 80, 24)
	s.give(pictured(0))
	s.give(pictured(1))
	_, c := s.Update(tick(s.turn))
	if s.keys("enter") != nil {
		t.Error("two snapshots at a time")
	}
	if f := s.frame(); !strings.Contains(f, "looking ...") {
		t.Errorf("before the stack is there it shows\n%s", f)
	}
	s.next = snapshot{picture: pictured(2)}
	_, c = s.Update(c())
	s.next.picture.Loops[0].Tasks[3].Stack = stack
	s.Update(c())
	if f := s.frame(); fmt.Sprint(s.asked) != "[0 4]" || !strings.Contains(f, "sweep.go:42") {
		t.Errorf("asked for %v; it shows\n%s", s.asked, f)
	}
	// A task that ran while the snapshot was taken keeps the last stack that was read.
	p := pictured(3)
	p.Loops[0].Tasks[3].Moved = true
	s.give(p)
	if f := s.frame(); !strings.Contains(f, "sweep.go:42") || !strings.Contains(f, "(ran meanwhile)") {
		t.Errorf("when the task has moved it shows\n%s", f)
	}
}

// It goes back to snapshots that are kept, and comes to the newest again.
func TestBoardGoesBack(t *testing.T) {
	s := newTestScreen(t, 80, 24)
	s.keys("left", "]", "n")
	for i := range 5 {
		s.give(pictured(i))
	}
	for _, step := range []struct{ keys, at, ago string }{
		{"", "15:04:09", ""},
		{"left", "15:04:08", "1s ago"},
		{"h h", "15:04:06", "3s ago"},
		{"right", "15:04:07", "2s ago"},
		{"[", "15:04:05", "4s ago"},
		{"left", "15:04:05", "4s ago"},
		{"l", "15:04:06", "3s ago"},
		{"]", "15:04:09", ""},
		{"right", "15:04:09", ""},
		{"left left", "15:04:07", "2s ago"},
		{"n", "15:04:09", ""},
		{"left /", "15:04:08", "1s ago"},
		{"l esc", "15:04:08", "1s ago"}, // a letter of the filter
	} {
		s.keys(strings.Fields(step.keys)...)
		if f := s.frame(); !strings.Contains(f, step.at) || !strings.Contains(f, step.ago) || strings.Contains(f, " ago") != (step.ago != "") {
			t.Fatalf("after %q it shows\n%swant %s, %q", step.keys, f, step.at, step.ago)
		}
	}
	// The snapshot that is shown stays, while newer ones come.
	s.give(pictured(5))
	s.give(pictured(6))
	if f := s.frame(); !strings.Contains(f, "15:04:08") || !strings.Contains(f, "3s ago") {
		t.Errorf("when two more snapshots have come it shows\n%s", f)
	}
	// It asks for no stack of now while it shows the past, and for one when it comes back.
	s.taking = false
	if s.keys("enter") != nil {
		t.Error("it asks for a stack while it shows the past")
	}
	s.taking = false
	c := s.keys("n")
	if c == nil {
		t.Fatal("it asks for no stack when it is back")
	}
	if c(); s.asked[len(s.asked)-1] == 0 {
		t.Errorf("asked for the stacks of %v", s.asked)
	}
}

// What is kept is bounded by time and by how much it is.
func TestBoardForgets(t *testing.T) {
	s := newTestScreen(t, 80, 24)
	for i := range 400 {
		s.give(pictured(i))
	}
	if n := len(s.history.readings); n != 301 {
		t.Errorf("%d snapshots are kept of 400 in as many seconds, want those of 5 minutes", n)
	}
	s.keys("[", "[")
	for i := range 290 {
		s.give(pictured(400 + i))
	}
	if s.history.back != 300 || s.now != s.history.readings[0] {
		t.Errorf("a snapshot that is dropped is shown: %d back of %d", s.history.back, len(s.history.readings))
	}
	s = newTestScreen(t, 80, 24)
	large := pictured(0)
	large.Loops[0].Tasks = make([]*inspect.Task, 200_000)
	for i := range large.Loops[0].Tasks {
		large.Loops[0].Tasks[i] = &inspect.Task{ID: uint64(i)}
	}
	for range 5 {
		s.give(large)
	}
	if n := len(s.history.readings); n != 2 || s.history.tasks != 400_000 {
		t.Errorf("%d snapshots of 200,000 tasks are kept, with %d tasks", n, s.history.tasks)
	}
}

// Without colour, bold and reversed text stays.
func TestBoardColour(t *testing.T) {
	for _, color := range []bool{true, false} {
		s := newTestScreen(t, 80, 24)
		s.color = color
		s.give(held(0))
		v := s.View()
		first, _, _ := strings.Cut(v.Content, "\n")
		if got := strings.Contains(first, "\x1b[1;31mHELD"); got != color || !v.AltScreen {
			t.Errorf("color %v: the frame begins with %q", color, first)
		}
		if got := strings.Contains(v.Content, "31m"); got != color || !strings.Contains(v.Content, "\x1b[7m") {
			t.Errorf("color %v: the frame is\n%q", color, v.Content)
		}
	}
}

// A frame costs the same for many tasks as for some.
func TestBoardDrawsWhatIsInSight(t *testing.T) {
	cost := func(n int) float64 {
		p := pictured(0)
		l := p.Loops[0]
		l.Tasks = nil
		for id := range uint64(n) {
			l.Tasks = append(l.Tasks, &inspect.Task{ID: 100_000 + id, Name: "worker", Func: "main.work", State: "ready"})
		}
		s := newTestScreen(t, 80, 24)
		s.give(p)
		s.keys("end")
		return testing.AllocsPerRun(10, func() { s.View() })
	}
	// Not exactly the same: a garbage collection empties pools, and their contents are made again.
	if few, many := cost(100), cost(100_000); many > 2*few {
		t.Errorf("a frame of 100,000 tasks takes %v allocations, one of 100 takes %v", many, few)
	}
}

// TestBoardOfMillions: on 80 columns a million is whole, and so is what is said of a task.
func TestBoardOfMillions(t *testing.T) {
	s := newTestScreen(t, 80, 24)
	p := pictured(0)
	million := 1_000_000
	p.Loops[0].Ready, p.Loops[0].Timers, p.Loops[0].Conns = million, million, &million
	p.Loops[0].Tasks[1].Site = &inspect.Frame{Func: "main.accept", File: "/home/somebody/room.go", Line: 17}
	s.give(p)
	if text := s.frame(); strings.Count(text, " 1,000,000") != 3 {
		t.Errorf("three millions are not whole:\n%s", text)
	}
	s.keys("down")
	s.keys("enter")
	if text := strings.Join(strings.Fields(s.frame()), " "); !strings.Contains(text, "started by "+startedAt(p.Loops[0].Tasks[1])) || !strings.Contains(text, ", loop chat") {
		t.Errorf("what is said of the task is not whole:\n%s", text)
	}
}

package inspect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestTreeOfMoved: a task that ran while the snapshot was taken has no scopes in the
// snapshot, and what they own is in the tree all the same.
func TestTreeOfMoved(t *testing.T) {
	ran := func(id, host uint64, depth int) *inspect.Task {
		return &inspect.Task{ID: id, Name: "owned", Moved: true, Owner: &inspect.ScopeID{Host: host, Depth: depth}}
	}
	l := &inspect.Loop{Name: "l", Exact: true, Tasks: []*inspect.Task{
		{ID: 1, Name: "main", State: "ready", Scopes: []inspect.Scope{{Kind: "group", Tasks: 6}}},
		ran(2, 1, 1), ran(3, 1, 1), ran(4, 1, 1), ran(5, 1, 1), ran(6, 1, 1), ran(7, 1, 1),
		// Of what looks alike only #7 owns something, so it is not counted with them.
		ran(8, 7, 1), ran(9, 7, 2),
	}}
	var b strings.Builder
	if err := (&inspect.Program{Loops: []*inspect.Loop{l}}).WriteTree(&b, inspect.TreeOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = `
└─ #1 main  ready
   └─ group, 6 tasks
      ├─ 5 × like #2 owned  ran while the snapshot was taken
      └─ #7 owned  ran while the snapshot was taken
         ├─ #8 owned  ran while the snapshot was taken
         └─ #9 owned  ran while the snapshot was taken
`
	if _, tree, _ := strings.Cut(b.String(), "busy 0 %"); tree != want {
		t.Errorf("got\n%s\nwant\n%s", tree, want)
	}
}

// TestTreeOfAlike: tasks are alike if what is shown of them is. As few as four are shown one by
// one.
func TestTreeOfAlike(t *testing.T) {
	calls := func(fn string, line int) []inspect.Frame {
		return []inspect.Frame{{Func: "iter.Pull", Line: line}, {Func: fn, Line: 7}}
	}
	for name, c := range map[string]struct {
		task          func(i int) inspect.Task
		n, want, full int
	}{
		"stacks that differ in calls of Rondo": {func(i int) inspect.Task { return inspect.Task{Stack: calls("main.f", i%2)} }, 6, 1, 6},
		"four":                                 {func(int) inspect.Task { return inspect.Task{Stack: calls("main.f", 1)} }, 4, 4, 4},
		"five":                                 {func(int) inspect.Task { return inspect.Task{Stack: calls("main.f", 1)} }, 5, 1, 1},
		"stacks of what they have offloaded": {func(i int) inspect.Task {
			return inspect.Task{Offload: &inspect.Goroutine{Stack: calls(fmt.Sprint("main.f", i%2), 1)}}
		}, 10, 2, 2},
		"of which some are cancelled": {func(i int) inspect.Task { return inspect.Task{Cancelled: i%2 == 0} }, 10, 2, 2},
	} {
		l := &inspect.Loop{Name: "l", Exact: true}
		for i := range c.n {
			k := c.task(i)
			k.ID, k.State = uint64(1+i), "waiting"
			l.Tasks = append(l.Tasks, &k)
		}
		for full, want := range map[bool]int{false: c.want, true: c.full} {
			var b strings.Builder
			if err := (&inspect.Program{Loops: []*inspect.Loop{l}}).WriteTree(&b, inspect.TreeOptions{Full: full}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(b.String(), "─ "); got != want {
				t.Errorf("%s, full %v: %d tasks are written, want %d:\n%s", name, full, got, want, b.String())
			}
		}
	}
}

// TestTreeOfEmptyScopes: tasks are counted with the scopes that they are in, if these look alike
// and own nothing.
func TestTreeOfEmptyScopes(t *testing.T) {
	idle := []inspect.Scope{{Kind: "group"}, {Kind: "timeout", Left: time.Minute}}
	l := &inspect.Loop{Name: "l", Exact: true}
	add := func(n int, scopes func(i int) []inspect.Scope) {
		for i := range n {
			l.Tasks = append(l.Tasks, &inspect.Task{ID: uint64(1 + len(l.Tasks)), Name: "t", State: "ready", Scopes: scopes(i)})
		}
	}
	add(60, func(i int) []inspect.Scope {
		return []inspect.Scope{idle[0], {Kind: "timeout", Left: time.Minute + time.Duration(i)*time.Second}}
	})
	// None of these looks like them.
	for _, other := range [][]inspect.Scope{
		nil, idle[:1], {idle[1], idle[0]}, {idle[0], {Kind: "timeout"}}, {idle[0], {Kind: "timeout", Left: time.Minute, Cancelled: true}},
		{idle[0], {Kind: "shield", Left: time.Minute}}, {idle[0], {Kind: "timeout", Left: time.Minute, Tasks: 1}},
	} {
		add(1, func(int) []inspect.Scope { return other })
	}
	add(1, func(int) []inspect.Scope { return idle })
	l.Tasks = append(l.Tasks, &inspect.Task{ID: 69, Name: "owned", State: "ready", Owner: &inspect.ScopeID{Host: 68, Depth: 2}})
	const want = `
├─ 60 × like #1 t  ready
│  └─ group, 0 tasks
│     └─ timeout, 0 tasks, 1m0s left
├─ #61 t  ready
├─ #62 t  ready
│  └─ group, 0 tasks
├─ #63 t  ready
│  └─ timeout, 0 tasks, 1m0s left
│     └─ group, 0 tasks
├─ #64 t  ready
│  └─ group, 0 tasks
│     └─ timeout, 0 tasks
├─ #65 t  ready
│  └─ group, 0 tasks
│     └─ timeout, 0 tasks, 1m0s left, cancelled
├─ #66 t  ready
│  └─ group, 0 tasks
│     └─ shield, 0 tasks, 1m0s left
├─ #67 t  ready
│  └─ group, 0 tasks
│     └─ timeout, 1 task, 1m0s left
└─ #68 t  ready
   └─ group, 0 tasks
      └─ timeout, 0 tasks, 1m0s left
         └─ #69 owned  ready
`
	p := &inspect.Program{Loops: []*inspect.Loop{l}}
	var b, all strings.Builder
	if err := errors.Join(p.WriteTree(&b, inspect.TreeOptions{}), p.WriteTree(&all, inspect.TreeOptions{All: true})); err != nil {
		t.Fatal(err)
	}
	if _, tree, _ := strings.Cut(b.String(), "busy 0 %"); tree != want {
		t.Errorf("got\n%s\nwant\n%s", tree, want)
	}
	if got := strings.Count(all.String(), " t  ready\n"); got != 68 {
		t.Errorf("of 68 tasks All writes %d", got)
	}
}

// TestTreeOfAll: all that a tree may show of a task, its scopes and its stack.
func TestTreeOfAll(t *testing.T) {
	frame := func(fn string, line int) inspect.Frame { return inspect.Frame{Func: fn, File: "f.go", Line: line} }
	l := &inspect.Loop{Name: "l", Exact: true, Tasks: []*inspect.Task{
		{ID: 1, Name: "main", State: "waiting", Since: 2 * time.Second, Waiting: "group", Func: "main.run", Goroutine: 8, Partial: true, Cut: true,
			Stack:  []inspect.Frame{frame("github.com/rondo-go/rondo.Group", 1), frame("main.run", 2)},
			Scopes: []inspect.Scope{{Kind: "timeout", Tasks: 1, Left: time.Minute}, {Kind: "group", Tasks: 2, Cancelled: true}}},
		{ID: 2, Name: "outer", State: "ready", Owner: &inspect.ScopeID{Host: 1, Depth: 1}},
		{ID: 3, Name: "reads", State: "running", Cancelled: true, Owner: &inspect.ScopeID{Host: 1, Depth: 2}, Stack: []inspect.Frame{frame("main.read", 5)}},
		{ID: 4, Name: "away", State: "waiting", Since: time.Second, Waiting: "offload", Owner: &inspect.ScopeID{Host: 1, Depth: 2},
			Scopes:  []inspect.Scope{{Kind: "shield"}},
			Offload: &inspect.Goroutine{ID: 9, State: "sleep", Stack: []inspect.Frame{frame("time.Sleep", 3), frame("main.slow", 4)}}},
		{ID: 5, Name: "loose", State: "ready", Owner: &inspect.ScopeID{Host: 1, Depth: 3}},
		{ID: 6, Name: "last", State: "ready"},
	}}
	p := &inspect.Program{Loops: []*inspect.Loop{l}}
	for full, want := range map[bool]string{false: `
├─ #1 main  waiting 2s for group  (main.run)
│  │  ... the innermost calls, in a coroutine, could not be read
│  │  main.run f.go:2
│  │  ... the outermost calls could not be read
│  ├─ #5 loose  ready
│  └─ timeout, 1 task, 1m0s left
│     ├─ #2 outer  ready
│     └─ group, 2 tasks, cancelled
│        ├─ #3 reads  running, cancelled
│        │     main.read f.go:5
│        └─ #4 away  waiting 1s for offload
│           │  goroutine 9 [sleep]
│           │     main.slow f.go:4
│           └─ shield, 0 tasks
└─ #6 last  ready
`, true: `
├─ #1 main  waiting 2s for group  (main.run)
│  │  ... the innermost calls, in a coroutine, could not be read
│  │  goroutine 8
│  │  github.com/rondo-go/rondo.Group f.go:1
│  │  main.run f.go:2
│  │  ... the outermost calls could not be read
│  ├─ #5 loose  ready
│  └─ timeout, 1 task, 1m0s left
│     ├─ #2 outer  ready
│     └─ group, 2 tasks, cancelled
│        ├─ #3 reads  running, cancelled
│        │     main.read f.go:5
│        └─ #4 away  waiting 1s for offload
│           │  goroutine 9 [sleep]
│           │     time.Sleep f.go:3
│           │     main.slow f.go:4
│           └─ shield, 0 tasks
└─ #6 last  ready
`} {
		var b strings.Builder
		if err := p.WriteTree(&b, inspect.TreeOptions{Full: full}); err != nil {
			t.Fatal(err)
		}
		if _, tree, _ := strings.Cut(b.String(), "busy 0 %"); tree != want {
			t.Errorf("full %v: got\n%s\nwant\n%s", full, tree, want)
		}
	}
}

// TestTreeLimit: a tree ends at about so many lines, and says so; one that has fewer is whole.
func TestTreeLimit(t *testing.T) {
	l := &inspect.Loop{Name: "l", Exact: true}
	for id := range uint64(2000) {
		l.Tasks = append(l.Tasks, &inspect.Task{ID: 1 + id, Name: "t", State: "ready"})
	}
	p := &inspect.Program{Loops: []*inspect.Loop{l}}
	for most, cut := range map[int]bool{0: false, 100: true, 1: true, 5000: false} {
		var b strings.Builder
		if err := p.WriteTree(&b, inspect.TreeOptions{All: true, MaxLines: most}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(b.String(), "\n")
		if said := strings.HasSuffix(b.String(), fmt.Sprintf("... more than %d line", most)+map[bool]string{true: "\n", false: "s\n"}[most == 1]); said != cut || cut && lines > most+100 {
			t.Errorf("MaxLines %d: %d lines, and that there are more is said: %v", most, lines, said)
		}
	}
	// Of a tree of just as many lines, or that was written before they were counted, nothing is
	// left out.
	l.Tasks = l.Tasks[:8]
	var whole strings.Builder
	if err := p.WriteTree(&whole, inspect.TreeOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{strings.Count(whole.String(), "\n"), 1} {
		var b strings.Builder
		if err := p.WriteTree(&b, inspect.TreeOptions{MaxLines: most}); err != nil || b.String() != whole.String() {
			t.Errorf("MaxLines %d (%v):\n%s\nwant\n%s", most, err, b.String(), whole.String())
		}
	}
}

// TestTreeOfLoops: of several loops there is a table first. A cycle follows the tasks of its loop,
// and rings through several loops come after all loops, before the goroutines.
func TestTreeOfLoops(t *testing.T) {
	p := &inspect.Program{PID: 7, Go: "go1", Loops: []*inspect.Loop{
		{Name: "a", Exact: true, Cycles: [][]uint64{{1, 2}}, Tasks: []*inspect.Task{{ID: 1, Name: "x", State: "ready"}, {ID: 2, Name: "y", State: "ready"}}},
		{Name: "b", Exact: true, Tasks: []*inspect.Task{{ID: 1, Name: "z", State: "ready"}}},
	}, Rings: [][]inspect.TaskID{{{Loop: "a", ID: 1}, {Loop: "b", ID: 1}}}, Goroutines: []*inspect.Goroutine{{ID: 5, State: "sleep", Func: "main.f"}}}
	one := &inspect.Program{PID: 7, Go: "go1", Loops: p.Loops[1:]}
	for p, want := range map[*inspect.Program]string{one: `process 7, go1: 1 task in 1 loop

b: 1 task, - connections, 0 ready, 0 timers, up 0s, busy 0 %
└─ #1 z  ready
`, p: `process 7, go1: 3 tasks in 2 loops

LOOP   TASKS   CONNS   BUSY   READY   TIMERS   UP
a          2       -    0 %       0        0   0s
b          1       -    0 %       0        0   0s

a: 2 tasks, - connections, 0 ready, 0 timers, up 0s, busy 0 %
├─ #1 x  ready
└─ #2 y  ready
CYCLE: #1 x waits for #2 y, which waits for #1 x

b: 1 task, - connections, 0 ready, 0 timers, up 0s, busy 0 %
└─ #1 z  ready
CYCLE: a #1 x waits for b #1 z, which waits for a #1 x

1 goroutine beside the tasks
  goroutine 5 [sleep]  (main.f)
`} {
		var b strings.Builder
		if err := p.WriteTree(&b, inspect.TreeOptions{}); err != nil || b.String() != want {
			t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
		}
	}
}

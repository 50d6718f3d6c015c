package inspect_test

import (
	"strings"
	"testing"

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

// TestTreeOfAlike: tasks are alike if what is shown of them is.
func TestTreeOfAlike(t *testing.T) {
	l := &inspect.Loop{Name: "l", Exact: true}
	for id := range uint64(6) {
		under := inspect.Frame{Func: "iter.Pull", Line: int(id % 2)}
		l.Tasks = append(l.Tasks, &inspect.Task{ID: 1 + id, State: "waiting", Stack: []inspect.Frame{under, {Func: "main.f", Line: 7}}})
	}
	for full, want := range map[bool]int{false: 1, true: 6} {
		var b strings.Builder
		if err := (&inspect.Program{Loops: []*inspect.Loop{l}}).WriteTree(&b, inspect.TreeOptions{Full: full}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "─ "); got != want {
			t.Errorf("full %v: %d tasks are written, want %d:\n%s", full, got, want, b.String())
		}
	}
}

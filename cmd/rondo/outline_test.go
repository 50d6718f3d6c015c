package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
)

func TestOutline(t *testing.T) {
	var tasks []rondo.TaskInfo
	add := func(id, parent uint64, name, fn, state, waiting string) {
		tasks = append(tasks, rondo.TaskInfo{ID: id, Parent: parent, Name: name, Func: fn, State: state, Waiting: waiting})
	}
	add(1, 0, "main", "main", "running", "")
	add(2, 1, "server", "serve", "waiting", "accept")
	add(3, 1, "clients", "clients", "waiting", "group")
	for i := range uint64(1200) {
		state, waiting := "waiting", "read"
		if i%400 == 0 {
			state, waiting = "ready", ""
		}
		add(10+2*i, 3, fmt.Sprintf("client %d", i), "client", state, waiting)
		add(11+2*i, 2, fmt.Sprintf("conn 127.0.0.1:4%d", i), "conn", "waiting", "read")
	}
	add(9001, 10, "task-9001", "sub", "waiting", "lock")
	add(9002, 12, "task-9002", "sub", "waiting", "sleep")
	add(9003, 14, "task-9003", "sub", "waiting", "sleep")
	add(9004, 14, "odd", "other", "waiting", "event")
	add(9005, 7777, "lost", "lost", "new", "")
	want := strings.TrimPrefix(`
main                   running
├─ server              accept
│  └─ 1,200 × conn     read
└─ clients             group
   └─ 1,200 × client   1,197 read, 3 ready
      ├─ 3 × task      2 sleep, 1 lock
      └─ odd           event
lost                   new
`, "\n")
	if got := strings.Join(draw(outline(tasks)), "\n") + "\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Tasks that run the same function may have names with nothing in common.
func TestOutlineOfStrangers(t *testing.T) {
	tasks := []rondo.TaskInfo{{ID: 1, Name: "alpha", State: "ready"}, {ID: 2, Name: "beta", State: "ready"}}
	if got, want := strings.Join(draw(outline(tasks)), "\n"), "2 × task   ready"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := draw(outline(nil)); len(got) != 0 {
		t.Errorf("the outline of nothing is %q", got)
	}
}

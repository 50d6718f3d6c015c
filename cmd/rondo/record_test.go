package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// twoSnapshots are of one process, ten seconds apart.
func twoSnapshots() (before, after *inspect.Program) {
	task := func(id uint64, name, fn, what string, since time.Duration, switches uint64, busy time.Duration) *inspect.Task {
		return &inspect.Task{ID: id, Name: name, Func: fn, State: "waiting", What: what, Waiting: what, Since: since, Switches: switches, Busy: busy, Age: time.Hour}
	}
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	before = &inspect.Program{PID: 7, Taken: at, Loops: []*inspect.Loop{
		{ID: 1, Name: "chat", Uptime: time.Minute, Spawned: 5, Servers: []inspect.Server{{Name: "a:1", Open: 3, Accepted: 5, Idle: 1}}, Tasks: []*inspect.Task{
			task(1, "main", "main.run", "group", time.Minute, 1, 0), task(2, "a", "main.conn", "read", time.Second, 10, 0),
			task(3, "b", "main.conn", "read", time.Second, 20, time.Second), task(4, "gone", "main.old", "sleep", 1, 1, 0),
		}},
		{ID: 2, Name: "old", Tasks: []*inspect.Task{}},
	}}
	after = &inspect.Program{PID: 7, Taken: at.Add(10 * time.Second), Loops: []*inspect.Loop{
		{ID: 1, Name: "chat", Uptime: time.Minute + 10*time.Second, Idle: 5 * time.Second, Spawned: 8, Switches: 1000, Servers: []inspect.Server{{Name: "a:1", Open: 4, Accepted: 9, Idle: 2, Errors: 1}, {Name: "b:2"}}, Tasks: []*inspect.Task{
			task(1, "main", "main.run", "group", time.Minute+10*time.Second, 1, 0), task(2, "a", "main.conn", "read", 11*time.Second, 10, 0),
			task(3, "b", "main.conn", "read", time.Second, 60, 3*time.Second), task(6, "c", "main.conn", "lock", 1, 1, 0), task(7, "d", "main.conn", "lock", 1, 1, 0),
		}},
		{ID: 3, Name: "new", Tasks: []*inspect.Task{task(1, "main", "f", "group", 1, 1, 0)}},
	}}
	return before, after
}

// TestCompare: what came and went, what grew, what was busy and what never moved.
func TestCompare(t *testing.T) {
	before, after := twoSnapshots()
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	compare(out, before, after, 2, 0)
	_ = out.Flush()
	want := `process 7, from 15:04:05.0 to 15:04:15.0

chat: 4 tasks, then 5; 3 started and 2 ended in 10s, 100 switches a second, idle 50.0 %
server a:1: 3 connections, then 4 connections, 4 accepted, 1 idle for too long, 1 ended with an error
server b:2: 0 connections, 0 accepted; it has started

FUNCTION    BEFORE   AFTER   CHANGE
main.conn        2       4       +2
main.old         1       0       -1

WAITS FOR   BEFORE   AFTER   CHANGE
lock             0       2       +2
sleep            1       0       -1

BUSIEST   BUSY    SHARE   SWITCHES   FUNCTION
#3 b        2s   20.0 %         40   main.conn

NEVER MOVED   SINCE   WAITS FOR   FUNCTION
#1 main       1m10s   group       main.run
#2 a            11s   read        main.conn

new: has started, with 1 task

old: has ended
`
	if b.String() != want {
		t.Errorf("it is\n%s\nwant\n%s", b.String(), want)
	}
}

// TestDiffFiles: two files with a snapshot each, and one with several, the last of which
// is cut off.
func TestDiffFiles(t *testing.T) {
	before, after := twoSnapshots()
	dir := t.TempDir()
	write := func(name string, cut int, ps ...*inspect.Program) string {
		var b bytes.Buffer
		for _, p := range ps {
			if err := p.WriteJSON(&b); err != nil {
				t.Fatal(err)
			}
		}
		b.Truncate(b.Len() - cut)
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one, two := write("one", 0, before), write("two", 0, after)
	for _, args := range [][]string{{"diff", one, two}, {"diff", write("both", 0, before, before, after)}, {"diff", "--limit", "3", write("cut", 9, before, after, after)}} {
		status, out, err := invoke(args...)
		if status != exitDone || err != "" || !strings.Contains(out, "3 started and 2 ended in 10s") {
			t.Errorf("%v: status %d, %q\n%s", args, status, err, out)
		}
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := write("broken", 0, before)
	text, err := os.ReadFile(broken)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, append(append(bytes.Clone(text), '<'), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"broken: not a snapshot": {"diff", broken, two},
		"a file is missing":      {"diff"},
		"one argument too many":  {"diff", one, two, one},
		"has one snapshot only":  {"diff", one},
		"has no snapshot":        {"diff", empty},
		"there is no snapshot":   {"diff", filepath.Join(dir, "none")},
		"not a snapshot":         {"diff", write("bad", 9, before)},
	} {
		if status, _, err := invoke(args...); status == exitDone || !strings.Contains(err, want) {
			t.Errorf("%v: status %d, %q; want %q", args, status, err, want)
		}
	}
}

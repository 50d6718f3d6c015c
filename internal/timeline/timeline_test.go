package timeline_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/internal/timeline"
)

func TestMain(m *testing.M) { leak.Main(m) }

// An event is what the tests look at.
type event struct {
	Ph, Name string
	Pid, Tid uint64
	TS, Dur  float64
	ID       uint64
	Args     map[string]any
}

// read parses a file, and fails the test if that is not an array of events in
// which slices are properly begun and ended.
func read(t *testing.T, path string, finish string) []event {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []event
	if err := json.Unmarshal([]byte(string(text)+finish), &events); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	type thread struct{ pid, tid uint64 }
	open := make(map[thread]bool)
	for _, e := range events {
		at := thread{e.Pid, e.Tid}
		switch e.Ph {
		case "B", "E":
			if open[at] == (e.Ph == "B") {
				t.Errorf("wrong order of slices at %+v", e)
			}
			open[at] = e.Ph == "B"
		}
	}
	return events
}

// start is a loop's clock, which has nothing to do with any other.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func at(microseconds int) time.Time { return start.Add(time.Duration(microseconds) * time.Microsecond) }

func open(t *testing.T, path, name string) *timeline.Loop {
	t.Helper()
	l, err := timeline.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l.Begin(name, start)
	return l
}

func closed(t *testing.T, l *timeline.Loop) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestEvents: what is told is what is in the file.
func TestEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	l := open(t, path, `a "loop"`)
	l.Started(1, "task-1 f", "f", 0, at(1))
	l.Stepped(1, "main", "main", at(2))
	l.Started(2, "task-2 g", "g", 1, at(3))
	l.Parked(1, "read 7", at(4))
	l.Stepped(2, "task-2 g", "g", at(5))
	l.Ended(2, "it \xff failed\n", at(8))
	l.Woken(1, 2, at(9))
	l.Stepped(1, "main", "main", at(9))
	l.Called(at(10), at(12))
	l.Ended(1, "", at(13))
	closed(t, l)
	var got []string
	zero := -1.0
	for _, e := range read(t, path, "") {
		if e.Ph == "M" {
			got = append(got, e.Name+" "+strconv.Itoa(int(e.Tid))+" "+e.Args["name"].(string))
			continue
		}
		if zero < 0 {
			zero = e.TS - 1
		}
		line := e.Ph + " " + strconv.Itoa(int(e.Tid)) + " " + strconv.Itoa(int(e.TS-zero+0.5)) + " " + e.Name
		for _, k := range []string{"waits for", "returned"} {
			if v, ok := e.Args[k]; ok {
				line += " " + k + " " + strconv.Quote(v.(string))
			}
		}
		got = append(got, line)
	}
	want := `process_name 0 a "loop"
thread_name 1 task-1 f
i 1 1 started
thread_name 1 main
B 1 2 main
thread_name 2 task-2 g
i 2 3 started
E 1 4  waits for "read 7"
B 2 5 g
s 2 8 wake
E 2 8  returned "it � failed\n"
B 1 9 main
f 1 9 wake
thread_name 0 callbacks
X 0 10 callback
E 1 13  returned "nil"`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}

// TestSeveralLoops: loops at once and one after the other write into one file,
// which is whole whenever none is open.
func TestSeveralLoops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace-%p")
	real := strings.ReplaceAll(path, "%p", strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(real, []byte(strings.Repeat("what was there before\n", 10000)), 0o666); err != nil {
		t.Fatal(err)
	}
	for round := 1; round <= 3; round++ {
		var wait sync.WaitGroup
		for range 3 {
			wait.Go(func() {
				l := open(t, path, "loop")
				for i := range 1000 {
					id := uint64(i + 1)
					l.Started(id, "task", "task", 0, at(i))
					l.Stepped(id, "task", "task", at(i))
					l.Ended(id, "", at(i+1))
				}
				closed(t, l)
			})
		}
		wait.Wait()
		loops, steps := make(map[uint64]bool), 0
		for _, e := range read(t, real, "") {
			loops[e.Pid] = true
			if e.Ph == "B" {
				steps++
			}
		}
		if len(loops) != 3*round || steps != 3000*round {
			t.Errorf("round %d: %d loops, %d steps", round, len(loops), steps)
		}
	}
}

// TestReplaced: a file that was taken away between two loops is begun anew.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	closed(t, open(t, path, "first"))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	closed(t, open(t, path, "second"))
	if events := read(t, path, ""); len(events) != 1 || events[0].Args["name"] != "second" {
		t.Errorf("%v", events)
	}
}

// TestUnfinished: what is in the file while a loop is open, and stays there if
// the process is killed, lacks the bracket at the end and nothing else.
func TestUnfinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	l := open(t, path, "loop")
	l.Started(1, "task", "task", 0, at(0))
	for i := range 8 {
		for range 400 {
			l.Stepped(1, "task", "task", at(2*i))
			l.Parked(1, "sleep", at(2*i+1))
		}
		if info, err := os.Stat(path); err != nil || info.Size() <= 1 {
			continue
		}
		l.Still(func() { read(t, path, "]") })
	}
	if info, err := os.Stat(path); err != nil || info.Size() <= 1 {
		t.Error("nothing is written before the end")
	}
	closed(t, l)
}

// TestFlushed: even a few events are in the file soon, without a further one.
func TestFlushed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	l := open(t, path, "loop")
	defer func() { closed(t, l) }()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if info, err := os.Stat(path); err == nil && info.Size() > int64(len("[")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was written within a minute")
		}
	}
	if events := read(t, path, "]"); len(events) != 1 {
		t.Errorf("%v", events)
	}
}

// TestUnwritable: Open says so; a disk that is full later shows at Close.
func TestUnwritable(t *testing.T) {
	if _, err := timeline.Open(filepath.Join(t.TempDir(), "no", "where")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		l := open(t, "/dev/full", "loop")
		if err := l.Close(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("full disk: %v", err)
		}
	}
}

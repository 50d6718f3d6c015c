package inspect_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestVerdicts: each fault of a program is a verdict, a part that could not be read is one too, and
// only a program without any has none.
func TestVerdicts(t *testing.T) {
	task := []*inspect.Task{{ID: 1, Name: "t", State: "waiting", What: "sleep"}}
	late := inspect.Loop{Name: "l", Lag: 2 * time.Second, Tasks: task}
	for name, c := range map[string]struct {
		program inspect.Program
		want    []string
	}{
		"well":             {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Lag: time.Millisecond, Tasks: task}}}, nil},
		"a part is unread": {inspect.Program{Missing: "the names"}, []string{"UNREAD: the names"}},
		"tasks are unread": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Short: "2 tasks not read"}}}, []string{"UNREAD: 2 tasks not read"}},
		"held": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Tasks: task, Held: &inspect.Held{Task: 1, For: time.Minute, Advice: "it computes"}}}},
			[]string{"HELD: #1 t has held the loop for 1m0s: it computes"}},
		"in deadlock": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Deadlock: 2 * time.Second}}},
			[]string{"DEADLOCK: for 2s nothing could run, no timer was set, and nothing known could wake the loop"}},
		"late": {inspect.Program{Loops: []*inspect.Loop{&late}},
			[]string{"LATE: the loop sleeps, and its first timer has been due for 2s: its process was stopped, or gets no processor"}},
		"a cycle": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Tasks: task, Cycles: [][]uint64{{1}}}}},
			[]string{"CYCLE: #1 t waits for #1 t"}},
	} {
		var got []string
		for _, v := range c.program.Verdicts(time.Second) {
			got = append(got, v.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	stopped := inspect.Program{PID: 7, Stopped: true, Loops: []*inspect.Loop{&late}}
	if v := stopped.Verdicts(0); len(v) != 1 || v[0].Kind != inspect.VerdictStopped {
		t.Errorf("of a process that is stopped: %v", v) // which is why its loop is late
	}
}

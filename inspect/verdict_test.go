package inspect_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestVerdicts: each fault of a program is a verdict, a part that could not be read is one too, and
// only a program without any has none.
func TestVerdicts(t *testing.T) {
	task := []*inspect.Task{{ID: 1, Name: "t", State: "waiting", What: "sleep"}}
	long := strings.Repeat("long ", 40)
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
		"a callback holds it": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Held: &inspect.Held{For: time.Minute, Advice: "rest"}}}},
			[]string{"HELD: a callback, or the loop itself, has held the loop for 1m0s: rest"}},
		"late by a second": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Lag: time.Second}}},
			[]string{"LATE: the loop sleeps, and its first timer has been due for 1s: its process was stopped, or gets no processor"}},
		"late by less":                {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Lag: time.Second - 1}}}, nil},
		"busy, so it does not sleep":  {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Lag: time.Minute, Running: 1}}}, nil},
		"ready, so it does not sleep": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Lag: time.Minute, Ready: 1}}}, nil},
		"held, so it does not sleep": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Lag: time.Minute, Held: &inspect.Held{For: time.Minute, Advice: "rest"}}}},
			[]string{"HELD: a callback, or the loop itself, has held the loop for 1m0s: rest"}},
		"a wait for long": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Tasks: []*inspect.Task{{ID: 1, Name: "t", What: "lock", Waiting: "lock", Since: time.Second}}}}},
			[]string{"WARNING: #1 t has waited 1s for lock"}},
		"a name of any length": {inspect.Program{Loops: []*inspect.Loop{{Name: "l", Tasks: []*inspect.Task{{ID: 1, Name: long}}, Cycles: [][]uint64{{1}}}}},
			[]string{"CYCLE: #1 " + long + " waits for #1 " + long}},
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

// TestVerdictEndings: a cycle ends by the first deadline of a scope that one of its tasks is in, as
// far outwards as the first Shield.
func TestVerdictEndings(t *testing.T) {
	timeout := func(left time.Duration) inspect.Scope { return inspect.Scope{Kind: "timeout", Left: left} }
	group, shield := inspect.Scope{Kind: "group"}, inspect.Scope{Kind: "shield"}
	scopes := func(of ...inspect.Scope) []inspect.Scope { return of }
	below := func(host uint64, depth int) *inspect.ScopeID { return &inspect.ScopeID{Host: host, Depth: depth} }
	outside := func(t *inspect.Task) *inspect.Task { t.WaitOutside(); return t }
	for name, c := range map[string]struct {
		tasks []*inspect.Task
		want  string
	}{
		"no deadline": {[]*inspect.Task{{ID: 1, Name: "a", Scopes: scopes(group)}, {ID: 2, Name: "b"}}, ""},
		"its own, of which the first counts": {[]*inspect.Task{{ID: 1, Name: "a", Scopes: scopes(timeout(3*time.Second), timeout(5*time.Second))}, {ID: 2, Name: "b"}},
			"; it ends by the Timeout of #1 a in 3s"},
		"that of either": {[]*inspect.Task{{ID: 1, Name: "a", Scopes: scopes(timeout(5 * time.Second))}, {ID: 2, Name: "b", Scopes: scopes(timeout(4 * time.Second))}},
			"; it ends by the Timeout of #2 b in 4s"},
		"within a Shield": {[]*inspect.Task{{ID: 1, Name: "a", Scopes: scopes(timeout(time.Second), shield, timeout(2*time.Second))}, {ID: 2, Name: "b"}},
			"; it ends by the Timeout of #1 a in 2s"},
		"a wait with another ctx": {[]*inspect.Task{outside(&inspect.Task{ID: 1, Name: "a", Scopes: scopes(timeout(time.Second))}), {ID: 2, Name: "b", Scopes: scopes(timeout(2 * time.Second))}},
			"; it ends by the Timeout of #2 b in 2s"},
		"of an owner": {[]*inspect.Task{{ID: 1, Name: "a", Owner: below(3, 2)}, {ID: 2, Name: "b"},
			{ID: 3, Name: "owner", Scopes: scopes(timeout(9*time.Second), group, timeout(time.Second)), Owner: below(4, 1)},
			{ID: 4, Name: "root", Scopes: scopes(timeout(8*time.Second), timeout(time.Second))}},
			"; it ends by the Timeout of #4 root in 8s"},
		"of an owner's innermost scope": {[]*inspect.Task{{ID: 1, Name: "a", Owner: below(3, 1)}, {ID: 2, Name: "b"},
			{ID: 3, Name: "owner", Scopes: scopes(timeout(time.Second))}},
			"; it ends by the Timeout of #3 owner in 1s"},
		"of a task that is not read": {[]*inspect.Task{{ID: 2, Name: "b", Scopes: scopes(timeout(time.Second))}}, "; it ends by the Timeout of #2 b in 1s"},
		"of an owner outside of a Shield": {[]*inspect.Task{{ID: 1, Name: "a", Owner: below(3, 2)}, {ID: 2, Name: "b"},
			{ID: 3, Name: "owner", Scopes: scopes(timeout(time.Second), shield), Owner: below(4, 1)},
			{ID: 4, Name: "root", Scopes: scopes(timeout(time.Second))}}, ""},
		"of an owner whose scopes are not known": {[]*inspect.Task{{ID: 1, Name: "a", Owner: below(3, 2)}, {ID: 2, Name: "b"},
			{ID: 3, Name: "owner", Scopes: scopes(timeout(time.Second))}}, ""},
	} {
		l := &inspect.Loop{Name: "l", Tasks: c.tasks, Cycles: [][]uint64{{1, 2}}}
		p := inspect.Program{Loops: []*inspect.Loop{l}}
		v := p.Verdicts(0)
		want := "CYCLE: #1 a waits for #2 b, which waits for #1 a" + c.want
		if c.tasks[0].ID != 1 {
			want = strings.ReplaceAll(want, "#1 a", "#1")
		}
		if len(v) != 1 || v[0].String() != want || !slices.Equal(v[0].Tasks, []inspect.TaskID{{Loop: "l", ID: 1}, {Loop: "l", ID: 2}}) {
			t.Errorf("%s: %+v, want %s", name, v, want)
		}
	}
	ring := inspect.Program{
		Loops: []*inspect.Loop{
			{Name: "first", Tasks: []*inspect.Task{{ID: 1, Name: "a", Scopes: scopes(timeout(6 * time.Second))}}},
			{Name: "second", Tasks: []*inspect.Task{{ID: 1, Name: "c", Scopes: scopes(timeout(time.Second))}, {ID: 2, Name: "b", Scopes: scopes(timeout(5 * time.Second))}}},
			{Name: "third", Tasks: []*inspect.Task{{ID: 1, Name: "d", Scopes: scopes(timeout(7 * time.Second))}}},
			{Name: "without end", Tasks: []*inspect.Task{{ID: 1, Name: "e"}}},
		},
		Rings: [][]inspect.TaskID{{{Loop: "first", ID: 1}, {Loop: "second", ID: 2}, {Loop: "third", ID: 1}, {Loop: "without end", ID: 1}}},
	}
	const want = "; it ends by the Timeout of second #2 b in 5s"
	if v := ring.Verdicts(0); len(v) != 1 || !strings.HasSuffix(v[0].Text, want) {
		t.Errorf("of several loops: %v, want ...%s", v, want)
	}
}

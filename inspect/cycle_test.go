package inspect_test

import (
	"fmt"
	"testing"

	"github.com/rondo-go/rondo/inspect"
)

// TestTangled: tasks are in a cycle if only the others of it can wake them, and in none where that
// is not certain.
func TestTangled(t *testing.T) {
	type task = inspect.Task
	loop := func(name string, tasks ...*task) *inspect.Loop { return &inspect.Loop{Name: name, Tasks: tasks} }
	one := func(tasks ...*task) []*inspect.Loop { return []*inspect.Loop{loop("l", tasks...)} }
	below := &inspect.ScopeID{Host: 1, Depth: 1}
	lock := func(id, on uint64) *task { return &task{ID: id, What: "lock", On: on, Owner: below} }
	sleep := func(id uint64) *task { return &task{ID: id, What: "sleep", Due: 1, Owner: below} }
	held := func(id uint64) *task { return &task{ID: id, What: "limit", State: "new", Owner: below} }
	any := func(id uint64, of ...uint64) *task { return &task{ID: id, What: "select", Any: of, Owner: below} }
	host := func(tasks int) *task { // it sleeps in its Group
		return &task{ID: 1, What: "sleep", Due: 1, Scopes: []inspect.Scope{{Kind: "group", Tasks: tasks}}}
	}
	group := func(tasks int) *task {
		return &task{ID: 1, What: "group", Scopes: []inspect.Scope{{Kind: "group", Tasks: tasks}}}
	}
	far := func(id uint64, loop string, there uint64) *task {
		return &task{ID: id, What: "call", Elsewhere: &inspect.TaskID{Loop: loop, ID: there}}
	}
	for name, c := range map[string]struct {
		loops []*inspect.Loop
		want  string
	}{
		"locks":                              {one(lock(1, 2), lock(2, 1)), "[[{l 1} {l 2}]]"},
		"a lock of one that sleeps":          {one(lock(1, 2), sleep(2)), "[]"},
		"one gives up after a while":         {one(lock(1, 2), &task{ID: 2, What: "lock", On: 1, Due: 1}), "[]"},
		"one has run meanwhile":              {one(lock(1, 2), &task{ID: 2, What: "lock", On: 1, Moved: true}), "[]"},
		"a holder that was not read":         {one(lock(1, 2), lock(2, 3)), "[]"},
		"a Select of a ring":                 {one(any(1, 2, 3), lock(2, 1), lock(3, 1)), "[[{l 1} {l 2}] [{l 1} {l 3}]]"},
		"a Select with a way out":            {one(any(1, 2, 3), lock(2, 1), sleep(3)), "[]"},
		"a Select with one that is not read": {one(any(1, 2, 3), lock(2, 1)), "[]"},

		"a Group whose task needs it":          {one(group(2), lock(2, 1), lock(3, 1)), "[[{l 1} {l 2}] [{l 1} {l 3}]]"},
		"a Group with a task that sleeps":      {one(group(2), lock(2, 1), sleep(3)), "[]"},
		"a Group with a task that is not read": {one(group(3), lock(2, 1), lock(3, 1)), "[]"},
		"a Group that has changed":             {one(group(2), lock(2, 1), lock(3, 1), sleep(4)), "[]"},
		"a Group of none":                      {one(group(0), lock(2, 1)), "[]"},
		"a Select of a Group that is not read": {one(any(1, 2, 3), &task{ID: 2, What: "group"}, lock(3, 1)), "[]"},

		"a list of the word of a Group": {one(&task{ID: 1, What: "group", Thing: 8, Scopes: group(1).Scopes}, lock(2, 1)), "[]"},

		"a list of the word of a limit":            {one(host(3), any(2, 3, 4), lock(3, 2), &task{ID: 4, What: "limit", Thing: 8, State: "waiting", Owner: below}), "[]"},
		"a limit whose places need who waits":      {one(host(3), lock(2, 4), lock(3, 2), held(4)), "[[{l 2} {l 4}] [{l 2} {l 4} {l 3}]]"},
		"a limit with a place that gets free":      {one(host(3), lock(2, 4), sleep(3), held(4)), "[]"},
		"a limit with a task that is not read":     {one(host(3), lock(2, 4), held(4)), "[]"},
		"a limit whose host is not read":           {one(lock(2, 4), held(4)), "[]"},
		"a limit whose places are not read":        {one(&task{ID: 2, What: "lock", On: 4}, held(4)), "[]"},
		"a Select of a limit that gets free":       {one(host(4), any(2, 4, 3), lock(3, 2), held(4), sleep(5)), "[]"},
		"a Select of a limit that is not read":     {one(any(1, 2, 3), &task{ID: 2, What: "limit", State: "new"}, lock(3, 1)), "[]"},
		"a Group with a limit that its tasks need": {one(group(2), lock(2, 3), held(3)), "[[{l 2} {l 3}]]"},

		"calls":                       {[]*inspect.Loop{loop("a", far(1, "b", 2)), loop("b", far(2, "a", 1))}, "[[{a 1} {b 2}]]"},
		"a call of one that sleeps":   {[]*inspect.Loop{loop("a", far(1, "b", 2)), loop("b", sleep(2))}, "[]"},
		"a call of another program":   {[]*inspect.Loop{loop("a", any(1, 2, 3), far(2, "c", 2), lock(3, 1))}, "[]"},
		"a call of one of two with b": {[]*inspect.Loop{loop("a", any(1, 2, 3), far(2, "b", 2), lock(3, 1)), loop("b"), loop("b")}, "[]"},
		"a call of one of two b":      {[]*inspect.Loop{loop("a", far(1, "b", 2)), loop("b", far(2, "a", 1)), loop("b")}, "[]"},
		"locks beside a call":         {[]*inspect.Loop{loop("a", lock(1, 2), lock(2, 1)), loop("b", far(3, "a", 3))}, "[[{a 1} {a 2}]]"},
	} {
		if got := fmt.Sprint(inspect.Tangled(c.loops...)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		across := "[]" // of several loops
		if name == "calls" {
			across = c.want
		}
		if got := fmt.Sprint(inspect.Across(c.loops...)); got != across {
			t.Errorf("%s: through several loops %s, want %s", name, got, across)
		}
	}
}

package inspect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// groupable is a loop with tasks of several kinds.
func groupable() *inspect.Loop {
	nap := []inspect.Frame{{Func: "runtime.gopark"}, {Func: "main.nap"}, {Func: "main.main"}}
	return &inspect.Loop{Name: "a", Tasks: []*inspect.Task{
		{ID: 1, Name: "main", Func: "main.main", State: "waiting", What: "group", Waiting: "group", Since: 9, Scopes: []inspect.Scope{{Kind: "timeout"}, {Kind: "group"}}},
		{ID: 2, Name: "a", Func: "main.f", State: "waiting", What: "lock", Waiting: `lock "x y" held by #3 b`, Since: 5, Owner: &inspect.ScopeID{Host: 1, Depth: 2}},
		{ID: 3, Name: "b", Func: "main.f", State: "waiting", What: "sleep", Waiting: "sleep 5s", Since: 7, Stack: nap, Owner: &inspect.ScopeID{Host: 1, Depth: 2}},
		{ID: 4, Name: "c", Func: "main.g", State: "waiting", What: "sleep", Waiting: "sleep 6s", Since: 8, Stack: nap, Owner: &inspect.ScopeID{Host: 1, Depth: 1}},
		{ID: 5, Name: "d", Func: "main.g", State: "ready", Moved: true, Owner: &inspect.ScopeID{Host: 77, Depth: 1}},
		{ID: 6, Name: "e", Func: "main.g", State: "waiting", What: "lock", Waiting: `lock "x y" held by #3 b`, Since: 2 * time.Nanosecond},
	}}
}

func TestGroups(t *testing.T) {
	for by, want := range map[inspect.GroupBy]string{
		inspect.ByWait:  `[lock "x y":2:5:7:#2 sleep:2:8:15:#3 group:1:9:9:#1 (ran meanwhile):1:0:0:#5]`,
		inspect.ByFunc:  `[main.g:3:8:10:#4 main.f:2:7:12:#2 main.main:1:9:9:#1]`,
		inspect.ByStack: `[(no stack):3:9:16:#1 main.main;main.nap:2:8:15:#3 (ran meanwhile):1:0:0:#5]`,
		inspect.ByScope: `[(the loop):2:9:11:#1 group of #1 main:2:7:12:#2 timeout of #1 main:1:8:8:#4 a scope of #77:1:0:0:#5]`,
	} {
		var got []string
		for _, g := range groupable().Groups(by) {
			got = append(got, fmt.Sprintf("%s:%d:%d:%d:#%d", g.Key, g.Tasks, g.Longest, g.Total, g.First.ID))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("by %s: %v; want %s", by, got, want)
		}
	}
}

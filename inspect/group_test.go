package inspect_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
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
	l := groupable()
	l.Tasks = append(l.Tasks,
		&inspect.Task{ID: 7, Name: "f", Func: "main.h", State: "ready", Owner: &inspect.ScopeID{Host: 1, Depth: 3}}, // main has left it
		&inspect.Task{ID: 8, Name: "g", Func: "main.h", State: "ready", Owner: &inspect.ScopeID{Host: 1}})           // which one is not known
	for by, want := range map[inspect.GroupBy]string{
		inspect.ByWait:  `[lock "x y":2:5:7:#2 sleep:2:8:15:#3 ready:2:0:0:#7 group:1:9:9:#1 (ran meanwhile):1:0:0:#5]`,
		inspect.ByFunc:  `[main.g:3:8:10:#4 main.f:2:7:12:#2 main.h:2:0:0:#7 main.main:1:9:9:#1]`,
		inspect.ByStack: `[(no stack):5:9:16:#1 main.main;main.nap:2:8:15:#3 (ran meanwhile):1:0:0:#5]`,
		inspect.ByScope: `[(the loop):2:9:11:#1 group of #1 main:2:7:12:#2 scope of #1 main:2:0:0:#7 timeout of #1 main:1:8:8:#4 a scope of #77:1:0:0:#5]`,
	} {
		var got []string
		for _, g := range l.Groups(by) {
			got = append(got, fmt.Sprintf("%s:%d:%d:%d:#%d", g.Key, g.Tasks, g.Longest, g.Total, g.First.ID))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("by %s: %v; want %s", by, got, want)
		}
	}
}

// TestNameOfThing: the name of a lock is all that is in the first quotes, whatever quotes are in it
// and in the name of the task that holds it.
func TestNameOfThing(t *testing.T) {
	l := &inspect.Loop{}
	for i, waiting := range []string{`lock "a \"b\"" held by #1 import "x"`, `lock "a \"b\"" held by #2 import "y"`, `lock held by #1 import "x"`} {
		l.Tasks = append(l.Tasks, &inspect.Task{ID: uint64(3 + i), State: "waiting", What: "lock", Waiting: waiting, Thing: uint64(7 + i/2), On: 1})
	}
	if got, want := fmt.Sprint(l.Resources()), `[{lock "a \"b\"" 1 2 0s 3} {lock  1 1 0s 5}]`; got != want {
		t.Errorf("the things are %s, want %s", got, want)
	}
	if groups := l.Groups(inspect.ByWait); len(groups) != 2 || groups[0].Key != `lock "a \"b\""` || groups[1].Key != "lock" {
		t.Errorf("the groups are %+v", groups)
	}
}

// TestFolded: each stack is a line with its weight, the heaviest first.
func TestFolded(t *testing.T) {
	p := &inspect.Program{Go: "go<1", Loops: []*inspect.Loop{groupable()}}
	for _, k := range p.Loops[0].Tasks {
		k.Since *= 1000
	}
	for weight, want := range map[inspect.Weight]string{
		inspect.ByCount: "(no stack);[lock \"x y\"] 2\nmain.main;main.nap;[sleep] 2\n(no stack);[group] 1\n(ran meanwhile) 1\n",
		inspect.ByTime:  "main.main;main.nap;[sleep] 15\n(no stack);[group] 9\n(no stack);[lock \"x y\"] 7\n",
	} {
		var b strings.Builder
		if err := p.WriteFolded(&b, weight); err != nil || b.String() != want {
			t.Errorf("by %s (%v):\n%swant\n%s", weight, err, b.String(), want)
		}
	}
}

// TestFlame: the drawing is XML in which calls lie above those that made them, as
// wide as their tasks count.
func TestFlame(t *testing.T) {
	p := &inspect.Program{Go: "go<1", Loops: []*inspect.Loop{groupable()}}
	var b strings.Builder
	if err := p.WriteFlame(&b, inspect.ByCount); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
	}
	// Three rows of two tasks of six, a third of the width each.
	at := regexp.MustCompile(`<title>(\S+): 2 tasks, 33.3 %</title><rect x="([\d.]+)" y="(\d+)" width="400.0"`)
	rows := make(map[string][]string)
	for _, m := range at.FindAllStringSubmatch(b.String(), -1) {
		rows[m[1]] = m[2:]
	}
	nap, base := rows["main.nap"], rows["main.main"]
	if len(rows) < 3 || nap[0] != base[0] || nap[1] >= base[1] {
		t.Errorf("main.nap is at %v, main.main at %v in\n%s", nap, base, b.String())
	}
	var none strings.Builder
	if err := (&inspect.Program{}).WriteFlame(&none, inspect.ByTime); err != nil || !strings.HasSuffix(none.String(), "</svg>\n") {
		t.Errorf("without tasks (%v): %s", err, none.String())
	}
}

//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestPortions reads a loop two tasks at a time: what is said of each is the same as
// if all were read at once, also where it is of tasks of another portion.
func TestPortions(t *testing.T) {
	target := open(t, start(t, plain.program(t), "waits"))
	whole := until(t, target, "all tasks wait", settled)
	target.Portions(2)
	parts := until(t, target, "all tasks wait", settled)
	if len(whole.Tasks) != len(parts.Tasks) || !reflect.DeepEqual(whole.Cycles, parts.Cycles) {
		t.Fatalf("%d tasks and the cycles %v; in portions %d and %v", len(whole.Tasks), whole.Cycles, len(parts.Tasks), parts.Cycles)
	}
	for i, k := range whole.Tasks {
		got, want := timeless(parts.Tasks[i]), timeless(k)
		if got != want {
			t.Errorf("in portions:\n%s\nwant\n%s", got, want)
		}
	}
}

// timeless is what is said of a task that does not change with time.
func timeless(k *inspect.Task) string {
	waiting, _, _ := strings.Cut(k.Waiting, "sleep ")
	for i := range k.Scopes {
		k.Scopes[i].Left = 0
	}
	return fmt.Sprintf("#%d %s %s %s %q %d %d %v %v %v", k.ID, k.Name, k.Func, k.State, waiting, k.On, k.FD, k.Owner, k.Scopes, k.Stack)
}

// TestBudget: a snapshot that takes too long, or too much memory, lacks tasks and says
// so.
func TestBudget(t *testing.T) {
	target := open(t, start(t, plain.program(t), "waits"))
	all := len(until(t, target, "all tasks wait", settled).Tasks)
	target.Portions(2)
	for want, o := range map[string]inspect.Options{
		"has taken 1ns, the most that it may":          {MaxTime: time.Nanosecond},
		"takes 0 MB of memory, the most that it may":   {MaxMemory: 1},
		"takes 0 MB of memory, the most that it may\n": {MaxMemory: 1, Stacks: true},
	} {
		p, err := target.Snapshot(o)
		if err != nil {
			t.Fatal(err)
		}
		l := p.Loops[0]
		want = fmt.Sprintf("%d tasks were not read: the snapshot %s", all-2, strings.TrimSpace(want))
		if len(l.Tasks) != 2 || l.Omitted != all-2 || l.Short != want {
			t.Errorf("%+v: %d tasks, %d omitted, %q; want 2 of %d and %q", o, len(l.Tasks), l.Omitted, l.Short, all, want)
		}
		var b strings.Builder
		if err := p.WriteTree(&b, inspect.TreeOptions{}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("the tree does not say %q (%v):\n%s", want, err, b.String())
		}
	}
	p, err := target.Snapshot(inspect.Options{MaxTime: time.Hour, MaxMemory: 1 << 40})
	if err != nil || len(p.Loops[0].Tasks) != all || p.Loops[0].Short != "" {
		t.Errorf("within its budget: %d tasks of %d, %q (%v)", len(p.Loops[0].Tasks), all, p.Loops[0].Short, err)
	}
}

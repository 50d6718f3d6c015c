package inspect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestWarnings: what looks wrong has a line, and what does not has none.
func TestWarnings(t *testing.T) {
	stack := func(calls ...string) (out []inspect.Frame) {
		for _, call := range calls {
			out = append(out, inspect.Frame{Func: call})
		}
		return out
	}
	const rondo = "github.com/rondo-go/rondo"
	yield := stack("runtime.coroswitch", rondo+".Yield", "main.poll")
	sleep0 := stack("runtime.coroswitch", rondo+".(*Task).yield", rondo+".Sleep", "main.poll")
	slept := stack("runtime.coroswitch", rondo+".(*Task).park", rondo+".Sleep", "main.poll")
	read := stack("runtime.coroswitch", rondo+".(*Task).yield", rondo+".(*taskDoor).Spend", rondo+"/socket.(*Conn).Read", "main.copy")
	put := stack("runtime.coroswitch", rondo+".(*Task).yield", rondo+".(*Task).settle", rondo+".(*Queue[...]).Put", "main.fill")
	l := &inspect.Loop{Exact: true, Tasks: []*inspect.Task{
		{ID: 1, Name: "a", What: "lock", Thing: 8, On: 2, Waiting: "lock held by #2 b", Since: 2 * time.Second},
		{ID: 2, Name: "b", What: "sleep", Waiting: "sleep 5s", Since: time.Hour, LongestStep: 99 * time.Millisecond},
		{ID: 3, Name: "c", What: "lock", Thing: 9, Waiting: "lock", Since: time.Millisecond, Abandoned: true},
		{ID: 4, Name: "d", What: "lock", Thing: 9, Waiting: "lock", Since: time.Millisecond, Abandoned: true},
		{ID: 5, Name: "e", State: "ready", Switches: 50_000, Age: 10 * time.Second, Stack: yield},
		{ID: 6, Name: "f", State: "ready", Switches: 5, Age: 10 * time.Second, Stack: yield},
		{ID: 10, Name: "j", State: "ready", Switches: 50_000, Age: 10 * time.Second, Stack: sleep0},
		{ID: 11, Name: "k", State: "ready", Switches: 50_000, Age: 10 * time.Second, Stack: slept},
		{ID: 12, Name: "l", State: "ready", Switches: 50_000, Age: 10 * time.Second, Stack: read},
		{ID: 13, Name: "m", State: "ready", Switches: 50_000, Age: 10 * time.Second, Stack: put},
		{ID: 14, Name: "n", State: "running", Switches: 50_000, Age: 10 * time.Second, Stack: yield},
		{ID: 7, Name: "g", State: "waiting", What: "read", Thing: 10, Since: time.Hour, LongestStep: 150 * time.Millisecond, SlowSteps: 3},
		{ID: 8, Name: "h", Moved: true, LongestStep: time.Hour},
		{ID: 9, Name: "i", Moved: true, What: "lock", Since: time.Hour},
	}, LongSteps: []inspect.Step{
		{Task: 9, Took: 200 * time.Millisecond, Ago: time.Second},
		{Task: 7, Took: 110 * time.Millisecond, Ago: 9 * time.Second},
		{Task: 7, Took: 150 * time.Millisecond, Ago: 10 * time.Second},
		{Task: 7, Took: time.Second, Ago: 11 * time.Second}, {Task: 2, Took: time.Second, Ago: time.Minute}, // over for long
		{Task: 99, Took: 120 * time.Millisecond, Ago: time.Second}, {Took: 130 * time.Millisecond, Ago: time.Second},
		{Task: 98, Took: 99 * time.Millisecond, Ago: time.Second},
	}}
	want := `[{long wait 1 #1 a has waited 2s for lock held by #2 b}` +
		` {nobody holds 3 #3 c waits for lock, which no living task is known to hold: the one that took it has ended without Unlock}` +
		` {wakes itself 5 #5 e has run 5000 times a second, and is ready again without having waited: it may call Yield, or Sleep with 0, in a loop}` +
		` {wakes itself 10 #10 j has run 5000 times a second, and is ready again without having waited: it may call Yield, or Sleep with 0, in a loop}` +
		` {long steps 7 #7 g has had 2 steps of up to 150ms in the last 10s, and 3 of a millisecond or more since it was started: call rondo.Yield from time to time, or use Offload, unless its process was stopped or had no processor then}` +
		` {long steps 9 #9 i has had 1 step of up to 200ms in the last 10s, and 1 of a millisecond or more since it was started: call rondo.Yield from time to time, or use Offload, unless its process was stopped or had no processor then}` +
		` {long steps 99 #99 had a step of 120ms, 1s ago: call rondo.Yield from time to time, or use Offload, unless its process was stopped or had no processor then}` +
		` {long steps 0 a callback, or one of several tasks had a step of 130ms, 1s ago: call rondo.Yield from time to time, or use Offload, unless its process was stopped or had no processor then}]`
	if got := fmt.Sprint(l.Warnings(time.Second)); got != want {
		t.Errorf("the warnings are\n%s\nwant\n%s", got, want)
	}
	if got := l.Warnings(0); len(got) != 7 {
		t.Errorf("without a limit: %v", got)
	}
	var many inspect.Loop
	for i := range 30 {
		many.Tasks = append(many.Tasks, &inspect.Task{ID: uint64(i)})
		many.LongSteps = append(many.LongSteps, inspect.Step{Task: uint64(i), Took: time.Second})
	}
	var b strings.Builder
	if err := many.WriteWarnings(&b, 0); err != nil || strings.Count(b.String(), "\n") != 21 || !strings.HasSuffix(b.String(), "WARNING: and 10 tasks more: long steps\n") {
		t.Errorf("of 30: %v\n%s", err, b.String())
	}
}

// TestWhole: of the number of the task that woke another only the low half is kept.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		low        uint32
		last, want uint64
	}{{7, 9, 7}, {0, 9, 0}, {5, 5<<32 | 9, 5<<32 | 5}, {1 << 31, 5<<32 | 9, 4<<32 | 1<<31}} {
		if got := inspect.Whole(c.low, c.last); got != c.want {
			t.Errorf("the low half %#x, of %#x at most: %#x, want %#x", c.low, c.last, got, c.want)
		}
	}
}

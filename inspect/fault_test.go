package inspect_test

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

var anyFault = regexp.MustCompile(`<p class="bad">([^<]*)</p>`)

// faultsIn returns the warnings of a page.
func faultsIn(page string) (out []string) {
	for _, text := range numbers(anyFault, page) {
		out = append(out, html.UnescapeString(text))
	}
	return out
}

// TestPageCycles: a page names the tasks that wait for each other, with their loops: first
// those of several loops, then those of one. Of a long cycle it names the first.
func TestPageCycles(t *testing.T) {
	p := crowd(3, 12)
	p.Rings = [][]inspect.TaskID{{{Loop: "loop-0", ID: 2}, {Loop: "loop-2", ID: 5}, {Loop: "gone", ID: 3}}}
	p.Loops[1].Cycles = [][]uint64{{1, 2}, {3}}
	var long []inspect.TaskID
	for i := range uint64(10) {
		long = append(long, inspect.TaskID{Loop: fmt.Sprint("loop-", i%2), ID: 1 + i})
	}
	p.Rings = append(p.Rings, long, long[:9])
	p.Loops[2].Held = &inspect.Held{For: time.Minute, How: "computing", Advice: "rest"}
	got := faultsIn(pageOf(t, p, ""))
	eight := "CYCLE: loop-0 #1 writer-0 waits for loop-1 #2 reader-1, which waits for loop-0 #3 reader-2, which waits for loop-1 #4 writer-3, which waits for loop-0 #5 reader-4, " +
		"which waits for loop-1 #6 reader-5, which waits for loop-0 #7 writer-6, which waits for loop-1 #8 reader-7, which waits for "
	want := []string{
		"loop-2: HELD: a callback, or the loop itself, has held the loop for 1m0s: rest",
		"CYCLE: loop-0 #2 reader-1 waits for loop-2 #5 reader-4, which waits for gone #3, which waits for loop-0 #2 reader-1",
		eight + "2 more tasks, the last of which waits for loop-0 #1 writer-0",
		eight + "1 more task, which waits for loop-0 #1 writer-0",
		"loop-1: CYCLE: #1 writer-0 waits for #2 reader-1, which waits for #1 writer-0",
		"loop-1: CYCLE: #3 reader-2 waits for #3 reader-2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the warnings are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := faultsIn(pageOf(t, crowd(2, 12), "")); len(got) > 0 {
		t.Errorf("warnings of a program in which nothing is wrong: %q", got)
	}
}

// TestPageManyCycles: warnings for which there is no room are counted, and a cycle of very
// many tasks, or with long names, leaves room for others.
func TestPageManyCycles(t *testing.T) {
	p := crowd(2, 2000)
	whole := make([]inspect.TaskID, 2000)
	for i := range whole {
		whole[i] = inspect.TaskID{Loop: fmt.Sprint("loop-", i%2), ID: uint64(1 + i)}
		p.Loops[0].Tasks[i].Name = strings.Repeat("long & name ", 40)
	}
	p.Rings = [][]inspect.TaskID{whole, whole, whole}
	for i := range uint64(1000) {
		p.Loops[1].Cycles = append(p.Loops[1].Cycles, []uint64{2*i + 1, 2*i + 2})
	}
	got := faultsIn(pageOf(t, p, ""))
	if len(got) < 10 || !strings.HasPrefix(got[2], "CYCLE: loop-0 #1 long & name") || !strings.Contains(got[2], "… waits for loop-1 #2 reader-1, which") ||
		!strings.Contains(got[2], "which waits for 1992 more tasks, the last of which waits for loop-0 #1 long") || !strings.HasSuffix(got[3], "which waits for #1 writer-0") {
		t.Fatalf("%d warnings:\n%.3000s", len(got), strings.Join(got, "\n"))
	}
	if want := fmt.Sprintf("and %d more warnings", 1003-(len(got)-1)); got[len(got)-1] != want {
		t.Errorf("the last warning is %q, want %q", got[len(got)-1], want)
	}
}

// TestPageHeldLong: a loop that is held is on the page also if there is no room for its
// stack.
func TestPageHeldLong(t *testing.T) {
	p := crowd(4, 30)
	for _, l := range p.Loops {
		l.Held = &inspect.Held{For: time.Minute, How: "computing", Advice: "rest"}
		for range 12 {
			l.Held.Stack = append(l.Held.Stack, inspect.Frame{Func: "main." + strings.Repeat("<", 100), File: strings.Repeat("'", 100), Line: 7})
		}
	}
	if got := faultsIn(pageOf(t, p, "")); len(got) != 4 {
		t.Errorf("the warnings are %q, want one for each of 4 loops", got)
	}
}

// TestCyclesOfDamagedSnapshot: a recorded snapshot may have a cycle of no tasks.
func TestCyclesOfDamagedSnapshot(t *testing.T) {
	p, err := inspect.ReadJSON(strings.NewReader(`{"version":1,"pid":1,"rings":[[]],"loops":[{"name":"a","cycles":[[]],"tasks":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WriteTree(&strings.Builder{}, inspect.TreeOptions{}); err != nil {
		t.Error(err)
	}
	pageOf(t, p, "")
}

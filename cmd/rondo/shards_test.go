//go:build linux && (amd64 || arm64)

package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/inspect"
)

// TestRing: a cycle through two loops is named by each verb that says what looks wrong, below a
// table of the loops.
func TestRing(t *testing.T) {
	p := startTarget(t, "ring")
	named := regexp.MustCompile(`(?m)^CYCLE: (shard-\d #\d+ [a-z 0-9-]+, which|shard-\d #\d+ [a-z 0-9-]+) waits for .*shard-\d #\d+ .*caller`)
	table := regexp.MustCompile(`(?m)^LOOP +TASKS +CONNS .*\nshard-0 .*\nshard-1 .*\ntarget .*\n\n`)
	for { // the last of the three comes to its wait
		if _, out, _ := invoke("tree", p.pid()); named.MatchString(out) {
			break
		}
	}
	p.sleeps(t)
	for verb, want := range map[string]int{"ps": exitDone, "tree": exitCycle, "check": exitWarned} {
		if status, out, err := invoke(verb, p.pid()); status != want || err != "" || !named.MatchString(out) || !table.MatchString(out) {
			t.Errorf("rondo %s: status %d, want %d, error %q\n%s", verb, status, want, err, out)
		}
	}
	if _, out, _ := invoke("check", p.pid()); strings.Count(out, "Nothing looks wrong.") != 1 && starved(out) == 0 {
		t.Errorf("two of the three loops are in the cycle:\n%s", out)
	}
	if _, out, _ := invoke("ps"); !regexp.MustCompile(`(?m)^ *` + p.pid() + ` .* CYCLE +shard, target +- +/\S+$`).MatchString(out) {
		t.Errorf("the list does not say that process %s has a cycle:\n%s", p.pid(), out)
	}
	picture := pictureOf(t, exitDone, "ps", "--json", p.pid())
	if len(picture.Rings) != 1 || len(picture.Rings[0]) != 3 {
		t.Fatalf("the rings are %v", picture.Rings)
	}
	s := newTestScreen(t, 200, 24)
	s.give(picture)
	if frame := s.frame(); !named.MatchString(frame) {
		t.Errorf("rondo top does not name the cycle:\n%s", frame)
	}
}

// TestTotals: what the list says of a process with several loops.
func TestTotals(t *testing.T) {
	n, m := 1200, 34
	loops := []*inspect.Loop{{Uptime: 100, Busy: 75, Conns: &n}, {Uptime: 10, Busy: 5, Conns: &m, Omitted: 2}}
	if got := strings.Join(totals(&inspect.Program{Loops: loops}), "|"); got != "2|2|1,234|125 %|turns" {
		t.Errorf("of two loops: %s", got)
	}
	loops = append(loops, &inspect.Loop{Held: new(inspect.Held)})
	if got := strings.Join(totals(&inspect.Program{Loops: loops, Rings: make([][]inspect.TaskID, 1)}), "|"); got != "3|2|-|125 %|HELD" {
		t.Errorf("with a loop of unknown connections that is held: %s", got)
	}
}

//go:build linux && (amd64 || arm64)

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/inspect"
)

// starved counts the warnings of long steps: of a program that makes none, it says that the machine
// has given it no processor for a while.
func starved(out string) int { return strings.Count(out, "had no processor then") }

// TestLocks: who holds what, who waits for it, and what is wrong with that.
func TestLocks(t *testing.T) {
	t.Parallel()
	pid := startAsleep(t, "locks").pid()
	shows(t, exitDone, `(?m)^lock +"held" +3 +\S+ +#\d+ waiter +#2 holder +waits \S+ for sleep .*\nlock +"lost" +1 +\S+ +#\d+ hopeless +- +-\nput +"full" +1 +`, "locks", pid)
	status, out, err := invoke("check", "--wait", "1ns", pid)
	if status != exitWarned || err != "" || strings.Count(out, "WARNING: ")-starved(out) != 6 || !strings.Contains(out, "which no living task is known to hold") {
		t.Errorf("check: status %d, %q\n%s", status, err, out)
	}
	pid = startAsleep(t, "idle").pid()
	if status, out, err = invoke("check", pid); starved(out) == 0 && (status != exitDone || err != "" || !strings.Contains(out, "Nothing looks wrong.")) {
		t.Errorf("check of a program that sleeps: status %d, %q\n%s", status, err, out)
	}
	shows(t, exitDone, "No task waits for", "locks", pid)
}

// TestRecord: what is recorded of a process can be compared.
func TestRecord(t *testing.T) {
	pid := startAsleep(t, "idle").pid()
	out := shows(t, exitDone, "^{", "record", "--every", "100ms", "--for", "150ms", "--stacks", pid)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	shows(t, exitDone, `(?m)^NEVER MOVED.*\n#1 main +\S+ +sleep`, "diff", file)
	if status, _, err := invoke("record", "--every", "1ms", pid); status != exitUsage || !strings.Contains(err, "--every takes 100ms or more") {
		t.Errorf("record too often: status %d, %q", status, err)
	}
}

// TestAbout: check says of a loop what is wrong with it or with the whole program, and no loop is
// well of which, or of the program, a part could not be read.
func TestAbout(t *testing.T) {
	ring := []inspect.TaskID{{Loop: "a", ID: 1}, {Loop: "b", ID: 1}}
	for _, c := range []struct {
		verdict     inspect.Verdict
		bad, unread string // the loops of which it says so
	}{
		{inspect.Verdict{Kind: inspect.VerdictUnread}, "", "abc"},
		{inspect.Verdict{Kind: inspect.VerdictUnread, Loop: "a"}, "", "a"},
		{inspect.Verdict{Kind: inspect.VerdictStopped}, "abc", ""},
		{inspect.Verdict{Kind: inspect.VerdictLate, Loop: "b"}, "b", ""},
		{inspect.Verdict{Kind: inspect.VerdictCycle, Tasks: ring}, "ab", ""},
	} {
		bad, unread := "", ""
		said := []inspect.Verdict{c.verdict}
		for _, name := range []string{"a", "b", "c"} {
			wrong, missing := about(said, &inspect.Loop{Name: name})
			if wrong {
				bad += name
			}
			if missing {
				unread += name
			}
		}
		wrong, missing := about(said, nil)
		if bad != c.bad || unread != c.unread || wrong != (bad != "") || missing != (unread != "") {
			t.Errorf("%+v: wrong %q (%v), unread %q (%v); want %q and %q", c.verdict, bad, wrong, unread, missing, c.bad, c.unread)
		}
	}
}

// TestRecordLast: what the tasks of a live program did comes as a timeline, and the errors say how
// much that is; without steps in that time it fails with a sentence.
func TestRecordLast(t *testing.T) {
	p := startTarget(t, "costs")
	for { // until its loop is old enough for a record
		status, out, err := invoke("record", "--last", "1h", p.pid())
		if status == 0 {
			if !strings.HasPrefix(out, "[\n{\"ph\":\"M\"") || !strings.HasSuffix(out, "\n]\n") || !strings.Contains(out, `"ph":"X"`) {
				t.Errorf("it is %.300s", out)
			}
			if !strings.Contains(err, " steps of ") {
				t.Errorf("it says %q", err)
			}
			break
		}
		if !strings.Contains(err, "no flight record") && !strings.Contains(err, " 0 steps") {
			t.Fatalf("status %d, %q", status, err)
		}
	}
	if status, _, err := invoke("record", "--core", "no such", "--every", "1s"); status != exitUsage || !strings.Contains(err, "--core goes with --last") {
		t.Errorf("a core without --last: status %d, %q", status, err)
	}
}

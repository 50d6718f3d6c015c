//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// pictureOf runs a verb with --json.
func pictureOf(t *testing.T, want int, args ...string) *inspect.Program {
	t.Helper()
	status, out, err := invoke(args...)
	if status != want || err != "" {
		t.Fatalf("rondo %s: status %d, error %q", args, status, err)
	}
	p, failed := inspect.ReadJSON(strings.NewReader(out))
	if failed != nil {
		t.Fatal(failed)
	}
	// What was read is the whole of what was written.
	var again bytes.Buffer
	if err := p.WriteJSON(&again); err != nil || again.String() != out {
		t.Errorf("read and written again (%v) it is\n%s\nnot\n%s", err, again.String(), out)
	}
	return p
}

// startWaits starts the target whose tasks wait for everything there is, and
// waits until they do: those that wait in a ring come to that last.
func startWaits(t *testing.T) *target {
	t.Helper()
	p := startAsleep(t, "waits")
	for {
		if status, out, err := invoke("ps", p.pid()); status != exitDone {
			t.Fatal(err)
		} else if strings.Contains(out, "CYCLE") {
			return p
		}
	}
}

// TestPs: a row for each task, in columns.
func TestPs(t *testing.T) {
	p := startWaits(t)
	goroutines := []*regexp.Regexp{
		regexp.MustCompile(`(?m)^ +1 +1 +IO wait, runs target +runtime\.main `),
		regexp.MustCompile(`(?m)^ +1 +\d+ +syscall +main\.main\.func1 `),
	}
	missing := func(text string) bool {
		return slices.ContainsFunc(goroutines, func(row *regexp.Regexp) bool { return !row.MatchString(text) })
	}
	status, out, err := invoke("ps", p.pid())
	// Goroutines come to their waits beside the tasks.
	for end := time.Now().Add(time.Minute); status == exitDone && missing(out) && time.Now().Before(end); {
		status, out, err = invoke("ps", p.pid())
	}
	if status != exitDone || err != "" {
		t.Fatalf("status %d, error %q", status, err)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if !regexp.MustCompile(`^target: \d+ tasks, 2 connections, 0 ready, \d+ timers, up \S+, busy \d+ %$`).MatchString(lines[0]) {
		t.Errorf("the first line is %q", lines[0])
	}
	// What is not the same each time is a pattern; columns begin below their titles.
	for _, want := range []string{
		`^ +#   NAME +STATE +WAITS FOR +SINCE +AGE +SWITCHES   FUNCTION$`,
		`^ +1   main +waiting   sleep (1h0m0|59m\d+)s +\S+s +\S+s +\d+   main\.waits$`,
		`^ *\d+   dead-a +waiting   lock "audit" held by #\d+ dead-b +\S+s +\S+s +\d   main\.waits\.`,
		`^ *\d+   dead-b +waiting   lock "accounts" held by #\d+ dead-a +\S+s `,
		`^ *\d+   sleeper +waiting   sleep (1h0m0|59m\d+)s `,
		`^ *\d+   joiner +waiting   task #\d+ sleeper +\S+s +\S+s +\d   rondo\.\(\*Task\)\.Wait$`,
		`^ *\d+   getter +waiting   get "jobs" `,
		`^ *\d+   reader +waiting   read .*127\.0\.0\.1:\d+ `,
		`^ *\d+   acceptor +waiting   accept `,
		`^ *\d+   offloader +waiting   offload +\S+s +\S+s`,
		`^CYCLE: #\d+ dead-[ab] waits for #\d+ dead-[ab], which waits for #\d+ dead-[ab]; it ends by the Timeout of #1 main in `,
	} {
		if !slices.ContainsFunc(lines, regexp.MustCompile(want).MatchString) {
			t.Errorf("no line is as %s:\n%s", want, out)
		}
	}
	// After the tasks come the goroutines, which are none of the loop's.
	beside := slices.IndexFunc(lines, regexp.MustCompile(`^GOROUTINES +FIRST +STATE +FUNC +AT$`).MatchString)
	if beside < 0 || missing(strings.Join(lines[beside:], "\n")) {
		t.Fatalf("the goroutines are missing:\n%s", out)
	}
	lines = lines[:beside-1]
	title := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, " "), "#   NAME") })
	for _, column := range []string{"NAME", "STATE", "WAITS FOR", "FUNCTION"} {
		at := strings.Index(lines[title], column)
		for _, line := range lines[title+1 : len(lines)-1] {
			if line[at-1] != ' ' || line[at] == ' ' {
				t.Errorf("column %s is not aligned in %q", column, line)
			}
		}
	}
}

// TestPsJSON: the JSON is the snapshot, stacks included, wherever the flag
// stands.
func TestPsJSON(t *testing.T) {
	p := startWaits(t)
	a, b := pictureOf(t, exitDone, "ps", "--json", p.pid()), pictureOf(t, exitDone, "ps", p.pid(), "--json")
	names := func(p *inspect.Program) (out []string) {
		for _, task := range p.Loops[0].Tasks {
			out = append(out, task.Name)
			if len(task.Stack) == 0 {
				t.Errorf("%s has no stack", task.Name)
			}
		}
		return out
	}
	if a.PID != p.Process.Pid || len(a.Loops) != 1 || !slices.Contains(names(a), "puller") || !reflect.DeepEqual(names(a), names(b)) {
		t.Errorf("%v and %v in loops %v of %d", names(a), names(b), a.Loops, a.PID)
	}
	if l := a.Loops[0]; len(l.Cycles) != 1 || len(l.Cycles[0]) != 2 {
		t.Errorf("the cycles are %v, want one of two tasks", l.Cycles)
	}
}

// TestTree: the tree, and an exit status that says that tasks wait in a ring.
func TestTree(t *testing.T) {
	p := startWaits(t)
	status, out, err := invoke("tree", p.pid())
	if status != exitCycle || err != "" {
		t.Errorf("status %d, error %q; want 3 for the ring, and no error", status, err)
	}
	for _, want := range []string{
		`(?m)^process \d+, go1\.\S+: \d+ tasks in 1 loop$`,
		`(?m)^└─ #1 main  waiting \S+ for sleep (1h0m0|59m\d+)s  \(main\.waits\)$`,
		`(?m)^ +└─ timeout, \d+ tasks, (1h0m0|59m\d+)s left$`,
		`(?m)^ +└─ group, \d+ tasks$`,
		`(?m)^ +├─ #\d+ sleeper  waiting \S+ for sleep (1h0m0|59m\d+)s .*\n +│ +main\.nap .*main\.go:\d+\n +│ +main\.deep .*main\.go:\d+$`,
		`(?m)^CYCLE: #\d+ dead-a`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("nothing is as %s in\n%s", want, out)
		}
	}
	if strings.Contains(out, "rondo.Sleep") {
		t.Errorf("calls of Rondo, which were not asked for:\n%s", out)
	}
	if _, full, _ := invoke("tree", p.pid(), "--full"); !strings.Contains(full, "rondo.Sleep ") || !regexp.MustCompile(`\n[ │]+goroutine [0-9]+\n`).MatchString(full) {
		t.Errorf("no call of Rondo with --full:\n%s", full)
	}
	if l := pictureOf(t, exitCycle, "tree", "--json", p.pid()).Loops[0]; len(l.Cycles) != 1 {
		t.Errorf("the cycles are %v", l.Cycles)
	}
}

// TestTreeOfMany: tasks that look alike are counted, unless all are asked for.
func TestTreeOfMany(t *testing.T) {
	p := startAsleep(t, "many", "40")
	status, few, err := invoke("tree", p.pid())
	if status != exitDone || err != "" || strings.Count(few, "5 × like #") != 8 || strings.Count(few, "worker-") != 8 {
		t.Errorf("status %d, error %q; 40 tasks of 8 kinds are\n%s", status, err, few)
	}
	if _, all, _ := invoke("tree", "--all", p.pid()); strings.Contains(all, " × ") || strings.Count(all, "worker-") != 40 {
		t.Errorf("with --all 40 tasks are\n%s", all)
	}
}

// Who holds the loop comes before all tasks, with the line where it does.
func TestHeldFirst(t *testing.T) {
	p := startTarget(t, "spun")
	var out string
	for !strings.Contains(out, "HELD") { // it is held when it has been for a while
		_, out, _ = invoke("ps", p.pid())
	}
	held, tree, _ := invoke("tree", p.pid())
	if held != exitHeld {
		t.Errorf("the tree's exit status is %d; want %d", held, exitHeld)
	}
	_, tree, _ = strings.Cut(tree, "\n\n")
	for _, text := range []string{out, tree} {
		lines := strings.Split(text, "\n")
		if len(lines) < 3 || !regexp.MustCompile(`^HELD: #\d+ culprit has held the loop for \S+: it is computing; `).MatchString(lines[1]) ||
			!regexp.MustCompile(`^    main\.spin .*main\.go:\d+$`).MatchString(lines[2]) {
			t.Errorf("it begins with\n%s", text)
		}
	}
	loops := []*inspect.Loop{{Name: "a"}, {Name: "b", Held: new(inspect.Held)}, {Name: "c"}, {Name: "d", Held: new(inspect.Held)}}
	heldFirst(&inspect.Program{Loops: loops})
	if got := loops[0].Name + loops[1].Name + loops[2].Name + loops[3].Name; got != "bdac" {
		t.Errorf("b and d are held, the order is %s", got)
	}
}

// What cannot be read is reported in one sentence, with status 1.
func TestLookFails(t *testing.T) {
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	plain := t.TempDir() + "/plain"
	if err := os.WriteFile(plain, []byte("no core"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"999999999", "999999999"},
		{strconv.Itoa(other.Process.Pid), strconv.Itoa(other.Process.Pid)},
		{"--core /nowhere/core", "there is no file /nowhere/core; look at the path"},
		{"--core " + plain + " --exe /nowhere/exe", plain},
		{"--core " + plain, plain},
	} {
		for _, verb := range []string{"ps", "tree"} {
			status, out, err := invoke(append([]string{verb}, strings.Fields(test.args)...)...)
			if status != exitFailed || out != "" || !strings.HasPrefix(err, "rondo "+verb+": ") || !strings.Contains(err, test.want) ||
				strings.Count(err, "\n") != 1 {
				t.Errorf("rondo %s %s: status %d, output %q, error %q", verb, test.args, status, out, err)
			}
		}
	}
}

// A reader that has seen enough, as head, ends the command without a word; what
// else goes wrong with the output is said.
func TestLookClosed(t *testing.T) {
	p := startTarget(t, "many", "3000")
	for _, verb := range []string{"ps", "tree"} {
		var stderr strings.Builder
		if status := run([]string{verb, p.pid()}, brokenWriter{}, &stderr); status != exitFailed ||
			stderr.String() != "rondo "+verb+": cannot write the output; look at where it goes: broken\n" {
			t.Errorf("%s to a writer that fails: status %d, error %q", verb, status, stderr.String())
		}
		// head closes its side of a pipe.
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := exec.CommandContext(t.Context(), os.Args[0], verb, p.pid())
		c.Env = append(os.Environ(), asCommand+"=1")
		stderr.Reset()
		c.Stdout, c.Stderr = w, &stderr
		err = c.Run()
		w.Close()
		if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || !status.Signaled() || status.Signal() != syscall.SIGPIPE || stderr.Len() > 0 {
			t.Errorf("%s to a pipe that is closed: %v, error %q", verb, c.ProcessState, stderr.String())
		}
	}
}

// On a terminal rows are cut, elsewhere they are whole.
func TestPsCut(t *testing.T) {
	p := startAsleep(t, "waits")
	s, c := sit(t, "ps", p.pid())
	<-s.closed
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	cutRows := 0
	for _, line := range strings.Split(strings.ReplaceAll(s.text(), "\r\n", "\n"), "\n") {
		if strings.HasSuffix(line, "…") {
			cutRows++
		}
		if cells.StringWidth(line) > 100 && !strings.HasPrefix(line, "CYCLE") {
			t.Errorf("wider than the terminal: %s", line)
		}
	}
	if cutRows == 0 {
		t.Errorf("nothing is cut in\n%s", s.text())
	}
}

// TestPsChoice: which tasks are shown, in what order, and how many.
func TestPsChoice(t *testing.T) {
	p := startWaits(t)
	names := func(args ...string) (out []string) {
		for _, task := range pictureOf(t, exitDone, append([]string{"ps", "--json"}, append(args, p.pid())...)...).Loops[0].Tasks {
			out = append(out, task.Name)
		}
		return out
	}
	if got := names("--filter", "DEAD"); !slices.Equal(got, []string{"dead-a", "dead-b"}) && !slices.Equal(got, []string{"dead-a", "dead-b", "joiner"}) {
		t.Errorf("those with dead in their row: %v", got)
	}
	if got := names("--sort", "name", "--limit", "3"); !slices.Equal(got, []string{"acceptor", "dead-a", "dead-b"}) {
		t.Errorf("the first three by name: %v", got)
	}
	_, out, _ := invoke("ps", "--limit", "2", p.pid())
	if !strings.Contains(out, "\nand 9 more tasks\n") {
		t.Errorf("2 of 11 tasks are\n%s", out)
	}
	for group, want := range map[string]string{
		"wait": `(?m)^ +4 +\S+s +\S+s   #1 main +sleep$`, "func": `(?m)^ +1 +\S+s +\S+s   #1 main +main\.waits$`,
		"scope": `(?m)^ +10 +\S+s +\S+s   #\d+ \S+ +group of #1 main$`, "stack": `(?m)^ +1 +\S+s +\S+s   #4 sleeper +main\.waits\.func1\.1\.4;main\.deep;main\.deep;main\.deep;main\.deep;main\.deep;main\.deep;main\.nap$`,
	} {
		if _, out, _ := invoke("ps", "--group", group, p.pid()); !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("by %s no line is as %s:\n%s", group, want, out)
		}
	}
	if _, out, _ := invoke("ps", "--group", "wait", "--limit", "1", p.pid()); !regexp.MustCompile(`(?m)^ +\.\.\. +\d more groups$`).MatchString(out) {
		t.Errorf("of one group:\n%s", out)
	}
}

// TestProcesses: without a process, those that use Rondo are listed.
func TestProcesses(t *testing.T) {
	p := startAsleep(t, "idle")
	shows(t, exitDone, `(?m)^ *`+p.pid()+` +go1\.\S+ +\d+ +1 +1 +0 +\d+ %   turns +target +- +/\S+$`, "ps")
}

// TestFlame: the drawing, or lines for other tools.
func TestFlame(t *testing.T) {
	p := startWaits(t)
	shows(t, exitDone, `^<svg (?s:.*)<title>main\.readConn: 1 task, `, "flame", p.pid())
	const deadlocked = `(?m)^main\.waits\.func1\.1\.2;main\.both;\[lock "audit"\] \d+$`
	wall := shows(t, exitDone, deadlocked, "flame", "--wall", "1ms", "--every", "100ms", "--folded", p.pid())
	before := filepath.Join(t.TempDir(), "before.txt")
	if err := os.WriteFile(before, []byte(wall), 0o666); err != nil {
		t.Fatal(err)
	}
	shows(t, exitDone, `(?s)red is more than before.*>\[lock &#34;audit&#34;\]: |>\[lock &#34;audit&#34;\]: .*red is more than before`, "flame", "--than", before, before)
	shows(t, exitDone, deadlocked, "flame", "--folded", "--by", "time", p.pid())
}

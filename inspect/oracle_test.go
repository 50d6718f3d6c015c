//go:build linux && (amd64 || arm64)

package inspect_test

// Random programs know the truth about themselves; the verdicts about them are compared with it.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

var oracle = flag.Int("oracle", 4, "how many random programs TestOracle makes, of 60 loops each")

// A truth is what a loop of testdata/oracle says of itself.
type truth struct {
	Parts     []string
	Dead      bool
	Stuck     []string
	Ends      map[string]string
	Abandoned []string
	Held      string
}

// heldWords are parts of what is said of each way to hold a loop.
var heldWords = map[string]string{
	"channel": "on a channel", "nil channel": "on a channel", "select": "in a select", "sync.Mutex": "on a sync.Mutex", "sync.RWMutex": "on a sync.RWMutex",
	"sync.WaitGroup": "in sync.WaitGroup.Wait", "sync.Cond": "in sync.Cond.Wait", "sync.Once": "in sync.Once.Do", "time.Sleep": "in time.Sleep", "system call": "in a blocking call",
}

// settledFor is how long all that a loop has become must have lasted before a verdict may not be
// missing. Before that none may be wrong.
const settledFor = 1500 * time.Millisecond

// TestOracle: of random programs each verdict is true, at any time, and none is missing of what
// has lasted. The pictures are as many as the programs have loops, and some more.
func TestOracle(t *testing.T) {
	t.Parallel()
	b := build{name: "oracle", folder: "./testdata/oracle"}
	for seed := range *oracle {
		c := exec.Command(b.program(t), strconv.Itoa(seed), "60")
		said := &reports{whole: make(map[string][]string), more: make(chan bool, 1)}
		c.Stderr = said
		truths := startOracle(t, c)
		target := openPID(t, c.Process.Pid)
		for whole, end := false, time.Now().Add(patience); !whole; {
			if time.Now().After(end) {
				t.Fatalf("seed %d: the loops did not come to rest", seed)
			}
			reported := make(map[string]bool) // before the snapshot: a report switches to each task
			for name := range truths {
				reported[name] = len(said.of(name, deadReport)) > 0
			}
			p := shot(t, target, inspect.Options{Stacks: true})
			if len(p.Loops) != len(truths) || len(p.Rings) != 0 || p.Missing != "" || p.Stopped {
				t.Fatalf("seed %d: %d loops, %d rings, missing %q, stopped %v; want %d loops", seed, len(p.Loops), len(p.Rings), p.Missing, p.Stopped, len(truths))
			}
			whole = true
			for _, l := range p.Loops {
				is := truths[l.Name]
				lasted := lastedFor(l, is) >= settledFor && (!is.Dead || reported[l.Name])
				whole = whole && lasted
				checkTruth(t, seed, p, l, is, lasted)
			}
			if t.Failed() {
				return
			}
		}
		checkReports(t, seed, said, truths)
		if t.Failed() {
			return
		}
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

// startReady starts a program that reads until its input ends, and returns what it prints once it
// is ready.
func startReady(t *testing.T, c *exec.Cmd) *bufio.Reader {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%v printed %q (%v)", c.Args, line, err)
	}
	return lines
}

// startOracle starts a program, and returns the truth about its loops.
func startOracle(t *testing.T, c *exec.Cmd) map[string]truth {
	t.Helper()
	lines := startReady(t, c)
	var truths map[string]truth
	if err := json.NewDecoder(io.LimitReader(lines, 1<<20)).Decode(&truths); err != nil {
		t.Fatal(err)
	}
	return truths
}

// reports are what Rondo has said of itself in a program, by the names of the loops.
type reports struct {
	mu    sync.Mutex
	begun []byte // a line that is not whole
	whole map[string][]string
	more  chan bool // has one when there is more
}

func (r *reports) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = append(r.begun, b...)
	for {
		line, rest, whole := bytes.Cut(r.begun, []byte("\n"))
		if !whole {
			select {
			case r.more <- true:
			default:
			}
			return len(b), nil
		}
		r.begun = rest
		var said struct{ Msg, Loop, Tasks, State string }
		if json.Unmarshal(line, &said) == nil {
			r.whole[said.Loop] = append(r.whole[said.Loop], said.Msg+said.Tasks+said.State)
		} else {
			r.whole[""] = append(r.whole[""], string(line))
		}
	}
}

// of returns the reports about a loop that contain a text.
func (r *reports) of(loop, text string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, said := range r.whole[loop] {
		if strings.Contains(said, text) {
			out = append(out, said)
		}
	}
	return out
}

// deadReport is a part of what a loop says that is in deadlock.
const deadReport = "nothing known can wake the loop"

// starved reports whether that is said of a loop that got no processor in the middle of a step.
func starved(report string) bool {
	return strings.Contains(report, "it is computing") && (strings.HasSuffix(report, "running") || strings.HasSuffix(report, "runnable")) ||
		strings.Contains(report, "it allocates faster") || strings.Contains(report, "it has ended its step")
}

// heldReports are parts of what the watchdog says of each way to hold a loop.
var heldReports = map[string]string{
	"channel": "on a channel", "nil channel": "on a channel", "select": "on a channel", "sync.Mutex": "on a sync.Mutex", "sync.RWMutex": "on a sync.RWMutex",
	"sync.WaitGroup": "on a sync.WaitGroup", "sync.Cond": "on a sync.Cond", "sync.Once": "in sync.Once.Do", "time.Sleep": "in time.Sleep", "system call": "in a blocking call",
}

// checkReports compares what the loops have reported of themselves with the truth, as the
// verdicts were before, so that the two agree: which loops are in deadlock, which tasks are in
// rings then, and on what the goroutine is blocked that holds a loop.
func checkReports(t *testing.T, seed int, said *reports, truths map[string]truth) {
	t.Helper()
	for name, is := range truths {
		wrong := func(format string, args ...any) {
			t.Helper()
			t.Errorf("seed %d, %s of %q: reports "+format, append([]any{seed, name, is.Parts}, args...)...)
		}
		const held = "a task holds the loop"
		wanted := ""
		if is.Dead {
			wanted = deadReport
		} else if is.Held != "" {
			wanted = held
		}
		late := time.After(patience)
		for wanted != "" && len(said.of(name, wanted)) == 0 {
			select {
			case <-said.more:
			case <-late:
				wrong("%q, want %q", said.of(name, ""), wanted)
				return
			}
		}
		for _, text := range said.of(name, held) {
			// On a slow machine a loop may get no processor in the middle of a step, also of one
			// that is to hold it, which is not reported again then.
			if !starved(text) && (is.Held == "" || !strings.Contains(text, heldReports[is.Held])) {
				wrong("%q, want that it is %q", text, heldReports[is.Held])
			}
		}
		if !is.Dead && len(said.of(name, deadReport)) > 0 {
			wrong("%q, and it is not dead", said.of(name, deadReport))
		}
		for _, text := range said.of(name, deadReport) {
			if in, stuck := inRings(text), slices.Clone(is.Stuck); !slices.Equal(in, sorted(stuck)) {
				wrong("%q in rings, want %q:\n%s", in, stuck, text)
			}
		}
	}
	if other := said.of("", ""); len(other) > 0 {
		t.Errorf("seed %d: it also wrote %q", seed, other)
	}
}

// inRings returns the names of the tasks that a report of a deadlock says to be in rings.
func inRings(text string) (names []string) {
	for line := range strings.Lines(text) {
		if _, ring, ok := strings.Cut(strings.TrimSpace(line), "in a ring, which only a cancellation can end: "); ok {
			names = append(names, strings.Split(strings.ReplaceAll(ring, ", which waits", " waits"), " waits for ")...)
		}
	}
	return sorted(names)
}

func sorted(names []string) []string { slices.Sort(names); return slices.Compact(names) }

// lastedFor returns for how long a loop has been as it is: since the last of its tasks began to
// wait, or since it is held.
func lastedFor(l *inspect.Loop, is truth) time.Duration {
	if is.Held != "" {
		return l.Lag
	}
	lasted := l.Uptime
	for _, t := range l.Tasks {
		if t.State == "waiting" && !t.Moved {
			lasted = min(lasted, t.Since)
		} else if t.What != "limit" {
			return 0
		}
	}
	return lasted
}

// checkTruth compares the verdicts about a loop with the truth. If that has not lasted, verdicts
// may be missing.
func checkTruth(t *testing.T, seed int, p *inspect.Program, l *inspect.Loop, is truth, lasted bool) {
	t.Helper()
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Errorf("seed %d, %s of %q: "+format, append([]any{seed, l.Name, is.Parts}, args...)...)
	}
	name := func(id uint64) string {
		for _, task := range l.Tasks {
			if task.ID == id {
				return task.Name
			}
		}
		return "?"
	}
	var dead bool
	var held string
	var stuck, abandoned []string
	for _, v := range p.Verdicts(0) {
		if v.Loop != l.Name {
			continue
		}
		switch v.Kind {
		case inspect.VerdictDeadlock:
			dead = true
		case inspect.VerdictHeld:
			// On a slow machine a loop may get no processor in the middle of a step.
			if running := strings.Contains(v.Text, "it is computing") || strings.Contains(v.Text, "it allocates faster"); !running || is.Held != "" {
				held = v.Text
			}
		case inspect.VerdictCycle:
			end := ""
			for _, id := range v.Tasks {
				stuck = append(stuck, name(id.ID))
				end = is.Ends[name(id.ID)]
			}
			if strings.Contains(v.Text, "it ends by the Timeout of") != (end != "") || !strings.Contains(v.Text, end) {
				wrong("%s; want that %q ends it", v, end)
			}
		case inspect.WarnNobody:
			abandoned = append(abandoned, name(v.Task))
		case inspect.WarnSteps: // the machine may be slow
		default:
			if lasted {
				wrong("the verdict %s", v)
			}
		}
	}
	stuck, abandoned, is.Stuck, is.Abandoned = sorted(stuck), sorted(abandoned), sorted(is.Stuck), sorted(is.Abandoned)
	beyond := func(have, true []string) bool {
		return slices.ContainsFunc(have, func(n string) bool { return !slices.Contains(true, n) })
	}
	switch {
	case dead && !is.Dead, lasted && dead != is.Dead:
		wrong("deadlock %v, want %v", dead, is.Dead)
	case beyond(stuck, is.Stuck), lasted && !slices.Equal(stuck, is.Stuck):
		wrong("in cycles %q, want %q", stuck, is.Stuck)
	case beyond(abandoned, is.Abandoned), lasted && !slices.Equal(abandoned, is.Abandoned):
		wrong("abandoned for %q, want %q", abandoned, is.Abandoned)
	case lasted && (held != "") != (is.Held != ""), lasted && !strings.Contains(held, heldWords[is.Held]):
		wrong("%q, want that it is %q", held, heldWords[is.Held])
	}
}

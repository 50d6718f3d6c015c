//go:build linux && (amd64 || arm64)

package inspect_test

// Programs that know the truth about their goroutines, and what the runtime prints of them, are
// compared with what is read from outside.

import (
	"cmp"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/goinspect"
)

var throngs = flag.Int("throngs", 2, "how many random programs TestGoroutines makes of each build")

// A throng is what testdata/goroutines says of itself.
type throng struct {
	Truths []struct {
		ID          uint64
		State, Func string
	}
	Text string
}

// throngBuilds are the ways in which it is built.
var throngBuilds = []build{
	{name: "goroutines", folder: "./testdata/goroutines"},
	{name: "goroutines pie", folder: "./testdata/goroutines", flags: []string{"-buildmode=pie"}},
	{name: "goroutines stripped", folder: "./testdata/goroutines", flags: []string{"-ldflags=-s -w"}},
	{name: "goroutines static", folder: "./testdata/goroutines", flags: []string{"-ldflags=-d", "-trimpath"}, env: "CGO_ENABLED=0"},
}

// startThrong starts such a program, and returns what it says.
func startThrong(t *testing.T, path string, args ...string) (*exec.Cmd, throng) {
	t.Helper()
	c := exec.Command(path, args...)
	lines := startReady(t, c)
	var said throng
	if err := json.NewDecoder(io.LimitReader(lines, 8<<20)).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return c, said
}

// TestGoroutines: of programs without Rondo every goroutine is found, with what it waits for and
// where it stands as the runtime itself prints it, and none that is not there.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	for _, b := range throngBuilds {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for seed := range *throngs {
				c, said := startThrong(t, b.program(t), strconv.Itoa(seed))
				checkThrong(t, shot(t, openPID(t, c.Process.Pid), inspect.Options{Goroutines: true}), said)
				_ = c.Process.Kill()
			}
		})
	}
}

// checkThrong compares a snapshot of a program that is at rest with the truth.
func checkThrong(t *testing.T, p *inspect.Program, said throng) {
	t.Helper()
	if len(p.Loops) != 0 || p.NoGoroutines != "" || p.MoreGoroutines != 0 || p.Missing != "" {
		t.Fatalf("%d loops, %q, %d more, missing %q; want none", len(p.Loops), p.NoGoroutines, p.MoreGoroutines, p.Missing)
	}
	found := make(map[uint64]*inspect.Goroutine)
	for _, g := range p.Goroutines {
		if found[g.ID] != nil {
			t.Errorf("goroutine %d is listed twice", g.ID)
		}
		found[g.ID] = g
	}
	printed := make(map[uint64]goinspect.Stack)
	for text := range strings.SplitSeq(said.Text, "\n\n") {
		if s, ok := inspect.ParseStack(text); ok {
			printed[s.Goroutine] = s
		}
	}
	for _, want := range said.Truths {
		g := found[want.ID]
		if g == nil {
			t.Errorf("goroutine %d, which waits in %s, was not found", want.ID, want.Func)
			continue
		}
		own := inMain(g.Stack)
		if own != want.Func || g.State != want.State || g.Kind != "" || g.Cut || g.Site == nil || g.Site.Func != "main.main" || g.Parent != 1 {
			t.Errorf("goroutine %d: %s in %s, kind %q, cut %v, from %+v in %d; want %s in %s, started by main.main in 1", g.ID, g.State, own, g.Kind, g.Cut, g.Site, g.Parent, want.State, want.Func)
		}
	}
	for id, want := range printed {
		if g := found[id]; g == nil || want.State == goinspect.Waiting && !sameCalls(g.Stack, want.Frames) {
			t.Errorf("goroutine %d stands at %+v;\nthe runtime prints %+v", id, g, want.Frames)
		}
	}
	for id, g := range found {
		if _, ok := printed[id]; !ok && g.Kind != inspect.GoroutineRuntime {
			t.Errorf("goroutine %d was invented: %+v", id, g)
		}
	}
	for _, g := range p.GoroutineGroups(true) {
		alike := 0
		for _, other := range p.Goroutines {
			if other.State == g.First.State && other.Kind == g.First.Kind && slices.Equal(other.Stack, g.First.Stack) && cmp.Or(len(g.First.Stack) > 0, other.Func == g.First.Func) {
				alike++
			}
		}
		if alike != g.Goroutines {
			t.Errorf("a group of %d like %+v; there are %d", g.Goroutines, g.First, alike)
		}
	}
}

// inMain returns the function of the innermost call of package main; "" if there is none.
func inMain(stack []inspect.Frame) string {
	for _, f := range stack {
		if f.Package() == "main" {
			return f.Func
		}
	}
	return ""
}

// sameCalls reports whether a stack is what the runtime prints, which leaves out its own calls.
func sameCalls(stack []inspect.Frame, printed []goinspect.Frame) bool {
	var calls []inspect.Frame
	for _, f := range stack {
		if !strings.HasPrefix(f.Func, "runtime.") {
			calls = append(calls, f)
		}
	}
	for _, f := range printed {
		if strings.HasPrefix(f.Func, "runtime.") || strings.HasPrefix(f.Func, "panic") {
			continue
		}
		if len(calls) == 0 || calls[0].Func != f.Func || calls[0].Line != f.Line || filepath.Base(calls[0].File) != filepath.Base(f.File) {
			return false
		}
		calls = calls[1:]
	}
	return len(calls) == 0
}

// TestGoroutinesWithoutMain: the list of goroutines is found also if the first one has ended, and
// another one has its record.
func TestGoroutinesWithoutMain(t *testing.T) {
	t.Parallel()
	target := open(t, start(t, build{name: "bare", folder: "./testdata/bare"}.program(t), "exit"))
	p := shot(t, target, inspect.Options{Goroutines: true})
	of := make(map[string]int)
	for _, g := range p.Goroutines {
		of[g.Func]++
	}
	if p.NoGoroutines != "" || of["main.others"] != 1 || of["main.others.func1"] != 3 || of["runtime.main"] != 0 {
		t.Errorf("there are %v, %q; want others and three of its own", of, p.NoGoroutines)
	}
}

// TestGoroutinesOfCore: a core of a program without Rondo has them too, and what looks for loops
// only refuses it.
func TestGoroutinesOfCore(t *testing.T) {
	t.Parallel()
	b := throngBuilds[0]
	c, said := startThrong(t, b.program(t), "7")
	core := filepath.Join(t.TempDir(), "core")
	dump(kernel, t, c.Process.Pid, core)
	target, err := inspect.OpenCore(core, "")
	if err != nil {
		t.Fatal(err)
	}
	p := shot(t, target, inspect.Options{Goroutines: true})
	checkThrong(t, p, said)
	var text strings.Builder
	if err := p.WriteTree(&text, inspect.TreeOptions{}); err != nil || !strings.Contains(text.String(), "no loop is running in it") {
		t.Errorf("the tree is %s (%v)", text.String(), err)
	}
	_, err = target.Snapshot(inspect.Options{})
	refused(t, err, core, "no Rondo in it")
	if err := target.Close(); err != nil {
		t.Error(err)
	}
}

// TestGoroutinesThatRun: of goroutines that start, end and compute all the time none is said to
// wait where it never does.
func TestGoroutinesThatRun(t *testing.T) {
	t.Parallel()
	c, said := startThrong(t, throngBuilds[0].program(t), "3", "spin")
	target := openPID(t, c.Process.Pid)
	p := shot(t, target, inspect.Options{Goroutines: true})
	i := slices.IndexFunc(p.Goroutines, func(g *inspect.Goroutine) bool { return g.Func == "main.spins" })
	if i < 0 || !slices.Contains([]string{"running", "runnable", "preempted", "ran meanwhile"}, p.Goroutines[i].State) {
		t.Errorf("of %d goroutines the one that spins is number %d, and does not run", len(p.Goroutines), i)
	}
	if len(p.Goroutines) < len(said.Truths)+2 {
		t.Errorf("%d goroutines; want %d and more", len(p.Goroutines), len(said.Truths)+2)
	}
}

// TestGoroutinesWithinBounds: a snapshot whose bound is exceeded while goroutines are read has
// those that it has read, and says what is missing and why.
func TestGoroutinesWithinBounds(t *testing.T) {
	t.Parallel()
	const crowd = 3000
	var gone sync.WaitGroup
	quit := make(chan struct{})
	defer gone.Wait()
	defer close(quit)
	for range crowd {
		gone.Go(func() { <-quit })
	}
	target := openPID(t, os.Getpid())
	p := shot(t, target, inspect.Options{Goroutines: true, MaxMemory: 1})
	if n := len(p.Goroutines); n == 0 || n > crowd/2 || p.MoreGoroutines < crowd/2 || !strings.Contains(p.NoGoroutines, "takes 0 MB of memory") {
		t.Errorf("%d goroutines, and %d more: %q", n, p.MoreGoroutines, p.NoGoroutines)
	}
	var text strings.Builder
	if err := p.WriteGoroutines(&text, false); err != nil || !strings.Contains(text.String(), " more not read: the snapshot takes 0 MB") {
		t.Errorf("%v: the text does not say what is missing:\n%s", err, &text)
	}
	p = shot(t, target, inspect.Options{Goroutines: true, MaxTime: 1})
	if len(p.Goroutines) != 0 || !strings.Contains(p.NoGoroutines, "the most that it may") {
		t.Errorf("in a nanosecond: %d goroutines, %q", len(p.Goroutines), p.NoGoroutines)
	}
}

// TestOffload: below a task that waits in Offload is the goroutine that runs the function, with
// its stack, and that one is not listed beside the tasks.
func TestOffload(t *testing.T) {
	t.Parallel()
	target := open(t, start(t, plain.program(t), "waits"))
	until(t, target, "a task that waits in Offload, whose goroutine waits too", func(l *inspect.Loop) bool {
		return settled(l) && slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool {
			return k.Offload != nil && k.Offload.State == "select (no cases)"
		})
	})
	p := shot(t, target, inspect.Options{Stacks: true, Goroutines: true})
	var g *inspect.Goroutine
	for _, k := range p.Loops[0].Tasks {
		if (k.Offload != nil) != (k.Name == "offloader") {
			t.Errorf("%s has the offload %+v", k.Name, k.Offload)
		}
		if k.Offload != nil {
			g = k.Offload
		}
	}
	if g == nil || g.State != "select (no cases)" || !strings.HasPrefix(inMain(g.Stack), "main.waits.func") || g.Func != inMain(g.Stack) {
		t.Fatalf("the offload is %+v; want a select without cases in main.waits", g)
	}
	ids := make(map[uint64]bool)
	for _, other := range p.Goroutines {
		if ids[other.ID] || other.ID == g.ID {
			t.Errorf("goroutine %d is listed twice", other.ID)
		}
		ids[other.ID] = true
	}
	for _, k := range p.Loops[0].Tasks {
		if ids[k.Goroutine] {
			t.Errorf("the goroutine of %s is listed beside the tasks", k.Name)
		}
	}
	if i := slices.IndexFunc(p.Goroutines, func(g *inspect.Goroutine) bool { return g.Loop == "target" }); i < 0 || p.Goroutines[i].ID != 1 {
		t.Errorf("number %d of the goroutines runs the loop; want goroutine 1", i)
	}
	var tree strings.Builder
	if err := p.WriteTree(&tree, inspect.TreeOptions{}); err != nil || !strings.Contains(tree.String(), "[select (no cases)]  ("+g.Func+")\n") {
		t.Errorf("%v, and the tree is\n%s", err, &tree)
	}
}

// TestGoroutinesOnPage: the page has the goroutines that run no task, and no more of them than
// there is room for.
func TestGoroutinesOnPage(t *testing.T) {
	p := &inspect.Program{Loops: []*inspect.Loop{}}
	for i := range 500 {
		p.Goroutines = append(p.Goroutines, &inspect.Goroutine{ID: uint64(i + 1), State: "chan <receive>", Func: "main.worker" + strconv.Itoa(i)})
	}
	text := pageOf(t, p, "")
	_, list, _ := strings.Cut(text, `<pre id="goroutines">`)
	list, _, _ = strings.Cut(list, "</pre>")
	if !strings.HasPrefix(list, "500 goroutines\n  goroutine 1 [chan &lt;receive&gt;]  (main.worker0)\n") || !strings.HasSuffix(list, "... more: rondo tree shows all\n") || len(list) > 1200 {
		t.Errorf("the page has %d bytes of goroutines:\n%s", len(list), list)
	}
	if text := pageOf(t, &inspect.Program{Loops: []*inspect.Loop{}}, ""); strings.Contains(text, "Goroutines") {
		t.Error("a page without goroutines has a heading for them")
	}
}

// TestGoroutinesInWords: those of which there are most come first, each with what is known of it.
func TestGoroutinesInWords(t *testing.T) {
	p := &inspect.Program{}
	for i, fn := range []string{"main.one", "main.three", "main.two", "main.three", "main.two", "main.three"} {
		p.Goroutines = append(p.Goroutines, &inspect.Goroutine{
			ID: uint64(i + 1), State: "chan receive", Func: fn, Cut: fn == "main.two",
			Site: &inspect.Frame{Func: "main.main", File: "main.go", Line: 7}, Stack: []inspect.Frame{{Func: fn, File: "main.go", Line: 9}},
		})
	}
	var b strings.Builder
	if err := p.WriteGoroutines(&b, false); err != nil {
		t.Fatal(err)
	}
	const want = `6 goroutines
  3 × like goroutine 2 [chan receive]  (main.three)
     main.three main.go:9
     started by main.main main.go:7
  2 × like goroutine 3 [chan receive]  (main.two)
     main.two main.go:9
     ... the outermost calls could not be read
     started by main.main main.go:7
  goroutine 1 [chan receive]  (main.one)
     main.one main.go:9
     started by main.main main.go:7
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

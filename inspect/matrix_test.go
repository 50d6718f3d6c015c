//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// notInlined begins the name of a build without inlined calls.
const notInlined = "not optimised"

// builds are the ways to build a program that change what a reader finds in it:
// whether there are symbols, where the code lies, what is inlined, how long the
// functions' frames are, who lays the sections out.
var builds = []build{
	plain,
	{name: "stripped", flags: []string{"-ldflags=-s -w"}},
	{name: "position independent", flags: []string{"-tags=lean", "-buildmode=pie"}},
	{name: "position independent and stripped", flags: []string{"-tags=lean", "-buildmode=pie", "-ldflags=-s -w"}},
	{name: "linked by gcc", flags: []string{"-ldflags=-linkmode=external"}},
	raced,
}

// raced is built with the race detector, and what a reader finds on the stack of a task is not
// optimised. With all=-N -l the whole standard library would be compiled for it.
var raced = build{
	name:  notInlined + " with the race detector",
	flags: []string{"-tags=lean", "-race", "-gcflags=iter=-N -l", "-gcflags=github.com/rondo-go/...=-N -l"},
}

// TestWaits reads a program with a task of each kind of wait, in each build. Some builds
// compile the standard library again, so -short leaves them out. Where the race detector watches
// the tests, the standard library is compiled for it, and the build with it is tried.
func TestWaits(t *testing.T) {
	for _, b := range builds {
		if b.name != plain.name && (testing.Short() && !underRace || underRace != (b.name == raced.name)) {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			l := lookAtWaits(t, start(t, b.program(t), "waits"))
			if !strings.HasPrefix(b.name, notInlined) {
				if s := task(t, l, "sleeper").Stack; !slices.ContainsFunc(s, func(f inspect.Frame) bool { return f.Func == "main.nap" && f.Inlined }) {
					t.Errorf("the call of nap is not marked as inlined: %+v", s)
				}
			}
		})
	}
}

// lookAtWaits reads the target with a task of each kind of wait.
func lookAtWaits(t *testing.T, p *process) *inspect.Loop {
	t.Helper()
	l := until(t, open(t, p), "11 tasks that wait", func(l *inspect.Loop) bool {
		return settled(l) && len(l.Tasks) == 11
	})
	checkWaits(t, l)
	for _, k := range l.Tasks {
		checkStack(t, k)
	}
	return l
}

// TestOtherProcessor reads a program for arm64 that an emulator runs. Its memory is
// that of the emulator. RONDO_QEMU names the emulator; without it nothing is tested.
func TestOtherProcessor(t *testing.T) {
	emulator := os.Getenv("RONDO_QEMU")
	if emulator == "" {
		t.Log("RONDO_QEMU is not set")
		return
	}
	arm64 := build{name: "for arm64", env: "GOARCH=arm64", flags: []string{"-ldflags=-s -w"}}
	t.Run("waits", func(t *testing.T) {
		lookAtWaits(t, start(t, emulator, arm64.program(t), "waits"))
	})
	for _, h := range hangs {
		if h.how == "computing" || h.how == "in a system call" {
			continue // The registers are the emulator's.
		}
		t.Run(h.mode, func(t *testing.T) {
			l := until(t, open(t, start(t, emulator, arm64.program(t), h.mode)), "a loop that is held", func(l *inspect.Loop) bool { return l.Held != nil })
			own := inspect.Own(l.Held.Stack)
			if l.Held.How != h.how || len(own) == 0 || own[0].Func != h.call || own[0].Line != line(t, h.line) {
				t.Errorf("%s at %v; want %s in %s", l.Held.How, own, h.how, h.call)
			}
		})
	}
}

// waits are what the tasks of the target wait for, and the functions that they
// run.
var waits = []struct{ name, wait, fn string }{
	{"main", `sleep (59m\d\ds|1h0m0s)`, "main.waits"},
	{"dead-a", `lock "audit" held by #3 dead-b`, "main.waits.func"},
	{"dead-b", `lock "accounts" held by #2 dead-a`, "main.waits.func"},
	{"sleeper", `sleep (59m\d\ds|1h0m0s)`, "main.waits.func"},
	{"joiner", `task #4 sleeper`, "rondo.(*Task).Wait"},
	{"getter", `get "jobs"`, "main.waits.func"},
	{"reader", `read (127\.0\.0\.1:[1-9]\d*|"127\.0\.0\.1:1") fd \d+`, "main.waits.func"},
	{"acceptor", `accept fd \d+`, "main.waits.func"},
	{"puller", `sleep (59m\d\ds|1h0m0s)`, "main.waits.func"},
	{"nester", `sleep (59m\d\ds|1h0m0s)`, "main.waits.func"},
	{"offloader", `offload`, "main.waits.func"},
}

func checkWaits(t *testing.T, l *inspect.Loop) {
	t.Helper()
	if l.Name != "target" || l.Held != nil || l.Offloads != 1 || l.Running != 0 || l.Spawned != 12 {
		t.Errorf("loop %q, held %v, %d offloads, running %d, %d spawned", l.Name, l.Held, l.Offloads, l.Running, l.Spawned)
	}
	checkTasks(t, l)
	conns := 2
	if strings.Contains(task(t, l, "reader").Waiting, `"127.0.0.1:1"`) {
		conns = 0 // this build has no sockets
	}
	if l.Conns == nil || *l.Conns != conns {
		t.Errorf("%v connections, want %d", l.Conns, conns)
	}
	checkSites(t, l)
	main := l.Tasks[0]
	if len(main.Scopes) != 2 || main.Scopes[0].Kind != "timeout" || main.Scopes[0].Left <= 50*time.Minute || main.Scopes[0].Left > time.Hour+time.Minute ||
		main.Scopes[1] != (inspect.Scope{Kind: "group", Tasks: 10}) {
		t.Errorf("main is in %+v; want a timeout of an hour and a group of 10 tasks", main.Scopes)
	}
	if len(l.Cycles) != 1 || !slices.Equal(l.Cycles[0], []uint64{2, 3}) {
		t.Errorf("cycles %v; want 2 and 3", l.Cycles)
	}
}

// checkTasks: each task has its name and function, and waits for what it is to wait for.
func checkTasks(t *testing.T, l *inspect.Loop) {
	t.Helper()
	for i, w := range waits {
		k := l.Tasks[i]
		if k.ID != uint64(i+1) || k.Name != w.name || !regexp.MustCompile("^("+w.wait+")$").MatchString(k.Waiting) {
			t.Errorf("task %d is #%d %s and waits for %q; want #%d %s and %q", i, k.ID, k.Name, k.Waiting, i+1, w.name, w.wait)
		}
		if !strings.HasPrefix(path.Base(k.Func), w.fn) {
			t.Errorf("%s runs %s, want %s", k.Name, k.Func, w.fn)
		}
		if k.Age < 0 || k.Age > l.Uptime || k.Since < 0 || k.Since > k.Age || k.Goroutine == 0 || k.Cancelled {
			t.Errorf("%s: age %v of %v, since %v, goroutine %d, cancelled %v", k.Name, k.Age, l.Uptime, k.Since, k.Goroutine, k.Cancelled)
		}
		switch {
		case i == 0:
			if k.Owner != nil || k.Parent != 0 {
				t.Errorf("main is owned by %v and was started by #%d", k.Owner, k.Parent)
			}
		case k.Owner == nil || *k.Owner != (inspect.ScopeID{Host: 1, Depth: 2}) || k.Parent != 1 || len(k.Scopes) > 0:
			t.Errorf("%s is owned by %v, was started by #%d and is in %v; want main's second scope and none", k.Name, k.Owner, k.Parent, k.Scopes)
		}
	}
}

// checkSites: each task was started by the call of Go at whose line its name is.
func checkSites(t *testing.T, l *inspect.Loop) {
	t.Helper()
	for _, k := range l.Tasks[1:] {
		if k.Site == nil || !strings.HasPrefix(k.Site.Func, "main.waits.func1") || path.Base(k.Site.File) != "main.go" {
			t.Errorf("%s was started by %+v", k.Name, k.Site)
		}
	}
	if l.Tasks[0].Site != nil {
		t.Errorf("main was started by %+v; want nothing, because Run did", l.Tasks[0].Site)
	}
}

// stacks are the program's own calls of each task, and the comments at their
// lines.
var stacks = map[string][][2]string{
	"main":   {{"main.waits.func", "main"}, {"main.waits.func", ""}, {"main.waits", ""}},
	"dead-a": {{"main.both", "both"}, {"main.waits.func", "dead-a"}},
	"dead-b": {{"main.both", "both"}, {"main.waits.func", "dead-b"}},
	"sleeper": {{"main.nap", "nap"}, {"main.deep", "the call of nap"}, {"main.deep", "deep"}, {"main.deep", "deep"}, {"main.deep", "deep"},
		{"main.deep", "deep"}, {"main.deep", "deep"}, {"main.waits.func", "sleeper"}},
	"joiner":   nil,
	"getter":   {{"main.waits.func", "getter"}},
	"reader":   {{"main.(*pair).read", ""}, {"main.readConn", "readConn"}, {"main.waits.func", "reader"}},
	"acceptor": {{"main.(*pair).accept", ""}, {"main.waits.func", "acceptor"}},
	"puller": {{"main.inPulled", "inPulled"}, {"main.pulled.func1", "the coroutine"}, {"main.pulled", "pulled"},
		{"main.waits.func", "puller"}},
	"nester": {{"main.inPulled", "inPulled"}, {"main.outer.func1", ""}, {"main.outer", "outer"}, {"main.nested.func2", ""},
		{"main.nested", "nested"}, {"main.waits.func", "nester"}},
	"offloader": {{"main.waits.func", "offloader"}},
}

func checkStack(t *testing.T, k *inspect.Task) {
	t.Helper()
	want, own := stacks[k.Name], inspect.Own(k.Stack)
	if k.Cut || len(k.Stack) == 0 || len(own) != len(want) {
		t.Errorf("%s: cut %v, %d calls, own %v; want %v", k.Name, k.Cut, len(k.Stack), own, want)
		return
	}
	for i, w := range want {
		f := own[i]
		ok := f.Func == w[0] || strings.HasSuffix(w[0], ".func") && strings.HasPrefix(f.Func, w[0])
		if !ok || w[1] != "" && (path.Base(f.File) != "main.go" || f.Line != line(t, w[1])) {
			t.Errorf("%s: call %d is %+v; want %s at the line of %s", k.Name, i, f, w[0], w[1])
		}
	}
}

// A hang is a way in which the target keeps its loop.
type hang struct {
	mode, call, line string
	how              string
	advice           string
}

var hangs = []hang{
	{"spin", "main.spin", "the hang", "computing", "rondo.Yield"},
	{"channel", "main.channel", "channel", "blocked on a channel", "rondo.Queue"},
	{"select", "main.selects", "select", "blocked in a select", "rondo.Select"},
	{"mutex", "main.mutex", "mutex", "blocked on a lock", "rondo.Mutex"},
	{"sleep", "main.sleep", "sleep", "in time.Sleep", "rondo.Sleep"},
	{"syscall", "main.readPipe", "syscall", "in a system call", "Offload"},
	{"raw", "main.readRaw", "raw", "in a system call", "Offload"},
	{"coroutine", "main.spin", "the hang", "computing", "rondo.Yield"},
	{"callback", "main.spin", "the hang", "computing", "rondo.Yield"},
	{"generator", "main.spin", "the hang", "computing", "rondo.Yield"},
	{"generator in a callback", "main.spin", "the hang", "computing", "rondo.Yield"},
	{"swallow", "main.swallow.func1", "swallow", "computing", "was cancelled"},
}

// TestHeld: a loop that hangs is found, with who does it, where and why.
func TestHeld(t *testing.T) {
	for _, h := range hangs {
		t.Run(h.mode, func(t *testing.T) {
			t.Parallel()
			checkHeld(t, start(t, plain.program(t), h.mode), h)
		})
	}
}

// TestToolchains: programs that other toolchains have built show the same.
func TestToolchains(t *testing.T) {
	for toolchain := range strings.FieldsSeq(os.Getenv("RONDO_TOOLCHAINS")) {
		for _, b := range builds[1:3] {
			b.name, b.toolchain = toolchain+" "+b.name, toolchain
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				lookAtWaits(t, start(t, b.program(t), "waits"))
				for _, h := range hangs {
					checkHeld(t, start(t, b.program(t), h.mode), h)
				}
			})
		}
	}
}

// checkHeld reads the target whose loop hangs. What the target prints arrives here before it
// has come to the call that hangs, and on a busy machine long before; and the function that
// calls read computes before it is in read. From there on each snapshot shows that call.
func checkHeld(t *testing.T, p *process, h hang) {
	t.Helper()
	target := open(t, p)
	computes := h.how == "computing"
	stands := func(l *inspect.Loop) bool {
		if l.Held == nil || computes && !profilerAllowed() {
			return l.Held != nil
		}
		if l.Held.How != h.how {
			return false
		}
		own := inspect.Own(l.Held.Stack)
		return len(own) > 0 && own[0].Func == h.call
	}
	until(t, target, "a loop that is held by "+h.call+", "+h.how, stands)
	for range 3 {
		l := until(t, target, "a loop that is held", func(l *inspect.Loop) bool { return l.Held != nil && (!computes || stands(l)) })
		checkHang(t, l, h)
	}
}

// checkHang checks a snapshot of a loop that hangs.
func checkHang(t *testing.T, l *inspect.Loop, h hang) {
	t.Helper()
	held := l.Held
	if held.How != h.how || !strings.Contains(held.Advice, h.advice) || held.For < 100*time.Millisecond || held.For > l.Uptime {
		t.Errorf("%s for %v of %v: %s; want %s, and %s for advice", held.How, held.For, l.Uptime, held.Advice, h.how, h.advice)
	}
	who := "HELD: a callback, or the loop itself,"
	if !strings.Contains(h.mode, "callback") {
		culprit := task(t, l, "culprit")
		if held.Task != culprit.ID || l.Running != culprit.ID || culprit.State != "running" || culprit.Waiting != "" {
			t.Errorf("held by #%d; want culprit, which is #%d and %s, waiting %q", held.Task, culprit.ID, culprit.State, culprit.Waiting)
		}
		if innocent := task(t, l, "innocent"); innocent.What != "sleep" || len(innocent.Stack) == 0 {
			t.Errorf("innocent: %+v; want that it sleeps", innocent)
		}
		who = fmt.Sprintf("HELD: #%d culprit", culprit.ID)
	} else if held.Task != 0 {
		t.Errorf("held by #%d; want a callback", held.Task)
	}
	own := inspect.Own(held.Stack)
	if computes := h.how == "computing"; computes && !profilerAllowed() {
		if held.Thread == 0 {
			t.Error("without a profiler not even the thread is known")
		}
	} else if len(own) == 0 || own[0].Func != h.call || own[0].Line != line(t, h.line) && !(computes && own[0].Line == line(t, h.line)+1) {
		t.Errorf("it stands at %v; want %s at the line of %s", own, h.call, h.line)
	}
	resumer := map[string]string{"coroutine": "main.spinPulled", "generator": "main.spinGenerated", "generator in a callback": "main.spinGenerated"}[h.mode]
	if resumer != "" && len(own) > 0 && !slices.ContainsFunc(own, func(f inspect.Frame) bool { return f.Func == resumer }) {
		t.Errorf("below the coroutine's calls are none of the task that resumed it: %v", own)
	}
	var text strings.Builder
	if err := l.WriteHead(&text, false); err != nil {
		t.Fatal(err)
	}
	if second := strings.Split(text.String(), "\n")[1]; !strings.HasPrefix(second, who) || !strings.Contains(second, held.Advice) {
		t.Errorf("the line below the loop's is %q; want %q and the advice", second, who)
	}
}

// TestIdle: a loop that sleeps is not held, however long. On a busy machine what the target prints
// arrives here long before that sleeps.
func TestIdle(t *testing.T) {
	t.Parallel()
	l := until(t, open(t, start(t, plain.program(t), "idle")), "one task, waiting for a while", func(l *inspect.Loop) bool {
		return settled(l) && (l.Held != nil && l.Running == 0 || l.Tasks[0].Since > 300*time.Millisecond)
	})
	if l.Held != nil || l.Lag != 0 || len(l.Tasks) != 1 || l.Idle < 200*time.Millisecond || l.Idle > l.Uptime {
		t.Errorf("held %+v, lag %v, %d tasks, idle %v of %v; want an idle loop with one task", l.Held, l.Lag, len(l.Tasks), l.Idle, l.Uptime)
	}
}

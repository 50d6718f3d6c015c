//go:build linux && (amd64 || arm64)

package inspect_test

// The program of testdata/target is built and started, which the tests
// read.

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// A build is a way to build the target.
type build struct {
	name      string
	flags     []string
	env       string
	toolchain string // "" for the one in use
	folder    string // of the program; "" for that of the target
}

var plain = build{name: "plain"}

// built are the programs that were built, and what goes wrong with them.
var built struct {
	sync.Mutex
	once map[string]func() (string, error)
}

// program builds the target, once, and returns the path of the program.
func (b build) program(t testing.TB) string {
	t.Helper()
	built.Lock()
	once, ok := built.once[b.name]
	if !ok {
		once = sync.OnceValues(func() (string, error) {
			// go test keeps results by what a test has read: read the target's source.
			sources()
			path := filepath.Join(workshop, strings.ReplaceAll(b.name, " ", "-"))
			args := append([]string{"build", "-o", path}, b.flags...)
			c := exec.Command("go", append(args, cmp.Or(b.folder, "./testdata/target"))...)
			c.Env = append(os.Environ(), b.env)
			if b.toolchain != "" {
				c.Env = append(c.Env, "GOTOOLCHAIN="+b.toolchain)
			}
			out, err := c.CombinedOutput()
			if err != nil {
				return "", fmt.Errorf("%s go %s: %w\n%s", b.toolchain, strings.Join(args, " "), err, out)
			}
			return path, nil
		})
		if built.once == nil {
			built.once = make(map[string]func() (string, error))
		}
		built.once[b.name] = once
	}
	built.Unlock()
	path, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A process is the target while it runs.
type process struct {
	*exec.Cmd
	stdin io.Closer
}

// start runs a program that prints "ready" when it may be read and ends
// when its standard input does. The test ends it at the latest.
func start(t testing.TB, path string, args ...string) *process {
	t.Helper()
	return run(t, exec.Command(path, args...))
}

func run(t testing.TB, c *exec.Cmd) *process {
	t.Helper()
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.Stderr == nil {
		c.Stderr = os.Stderr
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: c, stdin: stdin}
	t.Cleanup(p.end)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%v printed %q (%v), want that it is ready", c.Args, line, err)
	}
	return p
}

// end kills the process, if it still runs.
func (p *process) end() {
	_ = p.stdin.Close()
	_ = p.Process.Kill()
	_ = p.Wait()
}

// open opens a process.
func open(t testing.TB, p *process) *inspect.Target { return openPID(t, p.Process.Pid) }

// openPID opens the process with a number.
func openPID(t testing.TB, pid int) *inspect.Target {
	t.Helper()
	target, err := inspect.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
	return target
}

// shot takes a snapshot.
func shot(t testing.TB, target *inspect.Target, o inspect.Options) *inspect.Program {
	t.Helper()
	p, err := target.Snapshot(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// patience is how long a program may take to come to what a test waits for.
const patience = time.Minute

// until takes snapshots until the only loop is as wanted, and returns that one.
func until(t testing.TB, target *inspect.Target, what string, wanted func(l *inspect.Loop) bool) *inspect.Loop {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		p := shot(t, target, inspect.Options{Stacks: true})
		if len(p.Loops) == 1 && wanted(p.Loops[0]) {
			return p.Loops[0]
		}
		if time.Now().After(end) {
			var text strings.Builder
			_ = p.WriteTree(&text, inspect.TreeOptions{})
			t.Fatalf("it did not come to this: %s\n%s", what, text.String())
		}
	}
}

// settled reports whether all tasks of a loop wait, and the last one has switched.
func settled(l *inspect.Loop) bool {
	for _, t := range l.Tasks {
		if t.State != "waiting" || t.Moved {
			return false
		}
	}
	return l.Exact && len(l.Tasks) > 0 && l.Running == 0
}

// sources returns the files of the target's source, by their names.
var sources = sync.OnceValue(func() map[string]string {
	out := make(map[string]string)
	names, err := filepath.Glob("testdata/target/*.go")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprint("no source of the target: ", err))
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		out[filepath.Base(name)] = string(text)
	}
	return out
})

// lines are the lines of the target's main.go that have a comment "line of X".
var lines = sync.OnceValue(func() map[string]int {
	out := make(map[string]int)
	for i, line := range strings.Split(sources()["main.go"], "\n") {
		if _, what, ok := strings.Cut(line, "// line of "); ok {
			out[what] = i + 1
		}
	}
	return out
})

// line returns the line of the target's source with a comment "line of what".
func line(t testing.TB, what string) int {
	t.Helper()
	n, ok := lines()[what]
	if !ok {
		t.Fatalf("no line of the target has the comment: line of %s", what)
	}
	return n
}

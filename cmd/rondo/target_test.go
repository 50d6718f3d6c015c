//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"fmt"
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
)

// targetFile builds the program that package inspect's tests read.
var targetFile = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rondo-target")
	if err != nil {
		return "", err
	}
	removeTarget = func() error { return os.RemoveAll(dir) }
	file := filepath.Join(dir, "target")
	if out, err := exec.Command("go", "build", "-o", file, "../../inspect/testdata/target").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, nil
})

// A target is that program, running.
type target struct {
	*exec.Cmd
	stdin io.Closer
}

// startTarget starts it in a mode, and waits until it says that it is in it: where the machine
// is busy that is read long before its task goes on. It ends with the test, or if end is called.
func startTarget(t *testing.T, args ...string) *target {
	t.Helper()
	file, err := targetFile()
	if err != nil {
		t.Fatal(err)
	}
	return startFile(t, file, args...)
}

// startFile does so with another program.
func startFile(t *testing.T, file string, args ...string) *target {
	t.Helper()
	p := &target{Cmd: exec.CommandContext(t.Context(), file, args...)}
	p.Stderr = os.Stderr
	var err error
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the target says %q: %v", line, err)
	}
	return p
}

// startAsleep starts it in a mode in which all tasks come to wait, and waits until they do.
func startAsleep(t *testing.T, args ...string) *target {
	t.Helper()
	p := startTarget(t, args...)
	p.sleeps(t)
	return p
}

// sleeps waits until all tasks of a target wait.
func (p *target) sleeps(t *testing.T) {
	t.Helper()
	for {
		_, out, failed := invoke("ps", "--json", p.pid())
		picture, err := inspect.ReadJSON(strings.NewReader(out))
		if err != nil {
			t.Fatal(err, failed)
		}
		if !slices.ContainsFunc(picture.Loops, awake) {
			return
		}
	}
}

// awake reports whether a loop does not sleep yet.
func awake(l *inspect.Loop) bool {
	return !l.Exact || l.Running != 0 || l.Held != nil || slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool { return k.State != "waiting" })
}

func (p *target) pid() string { return strconv.Itoa(p.Process.Pid) }

// end ends the program, also if its loop hangs.
func (p *target) end() {
	_ = p.stdin.Close()
	// After the first call this fails; the status does not matter.
	_ = p.Wait()
}

//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
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

// startTarget starts it in a mode, and waits until it is in it. It ends with the
// test, or if end is called.
func startTarget(t *testing.T, args ...string) *target {
	t.Helper()
	file, err := targetFile()
	if err != nil {
		t.Fatal(err)
	}
	p := &target{Cmd: exec.CommandContext(t.Context(), file, args...)}
	p.Stderr = os.Stderr
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

func (p *target) pid() string { return strconv.Itoa(p.Process.Pid) }

// end ends the program, also if its loop hangs.
func (p *target) end() {
	_ = p.stdin.Close()
	// After the first call this fails; the status does not matter.
	_ = p.Wait()
}

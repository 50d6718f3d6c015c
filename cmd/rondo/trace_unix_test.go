//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTraceSignals: a signal ends the program, not the command; what the program
// does about it is its exit status.
func TestTraceSignals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := start(t, "trace", path, "--", os.Args[0], "echo", "--addr", "127.0.0.1:0")
		c.until("Listening")
		c.signal(s)
		out := c.end()
		if code := c.ProcessState.ExitCode(); code != 0 || !strings.Contains(out, "Ended by") || !strings.Contains(c.stderr.String(), "open it at") {
			t.Errorf("%v: status %d, output\n%s%s", s, code, out, &c.stderr)
		}
	}
}

// TestTraceKilled: a program that is killed leaves what was written, and its
// status is what a shell makes of it.
func TestTraceKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	c := start(t, "trace", path, "--", "sh", "-c", `echo pid $$; exec "$0" echo --addr 127.0.0.1:0`, os.Args[0])
	var pid int
	if _, err := fmt.Sscanf(c.until("pid"), "pid %d", &pid); err != nil {
		t.Fatal(err)
	}
	c.until("Listening")
	for {
		// The beginning is written at once, the rest a little later.
		if text, _ := os.ReadFile(path); strings.Contains(string(text), "started") {
			break
		}
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.end()
	if code := c.ProcessState.ExitCode(); code != 128+int(syscall.SIGKILL) || !strings.Contains(c.stderr.String(), "without its end") {
		t.Errorf("status %d, said %s", code, &c.stderr)
	}
}

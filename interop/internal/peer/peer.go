// Package peer runs the programs that the tests talk to: Redis, nginx, PostgreSQL,
// Chromium, and any other command.
//
// The law: a peer belongs to the test that started it and ends with it, even if the
// test's process is killed. Peers listen on Unix sockets in new folders, or on ports
// that the test has bound before, so no two tests use the same one. A peer is ready
// when it has answered, not after some time.
package peer

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// packages has the Debian package of each program.
var packages = map[string]string{
	"redis-server": "redis-server",
	"nginx":        "nginx-light",
	"curl":         "curl",
	"openssl":      "openssl",
	"postgres":     "postgresql",
	"initdb":       "postgresql",
	"chromium":     "chromium",
	"h2load":       "nghttp2-client",
	"wrk":          "wrk",
}

// beside are folders with programs that are not in every PATH.
var beside = []string{"/usr/sbin", "/usr/local/sbin", "/usr/lib/postgresql/*/bin"}

// Need returns the path of a program. If it is not installed the test is skipped and
// says how to install it. If RONDO_PEERS is "all" the test fails instead, so that CI
// skips nothing.
func Need(t testing.TB, program string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, dir := range beside {
		found, err := filepath.Glob(filepath.Join(dir, program))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return slices.Max(found)
		}
	}
	const missing = "%s is not installed: apt install %s"
	if os.Getenv("RONDO_PEERS") == "all" {
		t.Fatalf(missing, program, packages[program])
	}
	t.Skipf(missing, program, packages[program])
	return ""
}

// patience is how long a peer may take until its first answer, and to end.
const patience = time.Minute

// A Process is a running peer. It ends with its test.
type Process struct {
	cmd    *exec.Cmd
	output transcript
	ended  chan struct{} // closed when it has
}

// Start starts cmd. If the test fails, its log has the program's output.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	ownChild(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // it is told to end, and says so
	}()
	t.Cleanup(func() {
		p.end(t)
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(cmd.Path), p.output.String())
		}
	})
	return p
}

// end tells the program to end, with the signal that PostgreSQL calls a fast
// shutdown, and waits for it.
func (p *Process) end(t testing.TB) {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		t.Errorf("%s did not end when it was told to", filepath.Base(p.cmd.Path))
	}
}

// Output returns what the program has written so far.
func (p *Process) Output() string { return p.output.String() }

// Await calls try until it returns nil. The test fails if the program ends first, or
// if that takes longer than patience.
func (p *Process) Await(t testing.TB, try func() error) {
	t.Helper()
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	late := time.After(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-pause.C:
		case <-p.ended:
			t.Fatalf("%s ended before it was ready: %v", filepath.Base(p.cmd.Path), err)
		case <-late:
			t.Fatalf("%s is not ready after %v: %v", filepath.Base(p.cmd.Path), patience, err)
		}
	}
}

// folder makes a folder whose path is short enough for a Unix socket in it, and
// removes it when the test ends.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rondo-peer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A transcript is the output of a program.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

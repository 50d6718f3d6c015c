// Package program runs an example as what it is, a program: its test is built
// with it, and starts itself once more as a child that calls the example's main.
//
// A child lives no longer than its test, and than a minute.
package program

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// child is the variable of the environment by which a process knows that it is
// one.
const child = "RONDO_EXAMPLES_CHILD"

// Main is what an example's TestMain does: it calls main in a child, and in the
// test it runs the tests, and fails if they leave goroutines behind.
func Main(m *testing.M, main func()) {
	if os.Getenv(child) != "" {
		main()
		return
	}
	before := runtime.NumGoroutine()
	code := m.Run()
	// Goroutines that have said their last word may not be gone yet.
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		runtime.Gosched()
	}
	if left := runtime.NumGoroutine() - before; left > 0 && code == 0 {
		stacks := make([]byte, 1<<20)
		fmt.Printf("%d goroutines were left behind:\n%s\n", left, stacks[:runtime.Stack(stacks, true)])
		code = 1
	}
	os.Exit(code)
}

// A Process is a running example.
type Process struct {
	Stdin io.WriteCloser

	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// Start starts the example with the given arguments.
func Start(t *testing.T, args ...string) *Process {
	t.Helper()
	return StartWith(t, nil, args...)
}

// StartWith is Start with files that the example gets as descriptors 3, 4 and so on.
func StartWith(t *testing.T, passed []*os.File, args ...string) *Process {
	t.Helper()
	return start(t, os.Args[0], passed, args...)
}

// StartFile starts the program in a file.
func StartFile(t *testing.T, path string, args ...string) *Process {
	t.Helper()
	return start(t, path, nil, args...)
}

func start(t *testing.T, path string, passed []*os.File, args ...string) *Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p := &Process{t: t, cmd: exec.CommandContext(ctx, path, args...)}
	p.cmd.Env = append(os.Environ(), child+"=1")
	p.cmd.Stderr, p.cmd.ExtraFiles = &p.stderr, passed
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.Stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Wait() // it was killed, and the test has failed
		}
	})
	return p
}

// Line returns the next line of the example's output, without its end.
func (p *Process) Line() string {
	p.t.Helper()
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		p.t.Fatalf("after the output %q: %v\n%s", line, err, &p.stderr)
	}
	return line[:len(line)-1]
}

// Interrupt does what Ctrl-C would.
func (p *Process) Interrupt() {
	p.t.Helper()
	p.Signal(os.Interrupt)
}

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Wait closes the example's input, and returns the rest of its output, its error
// output, and its exit code when it has ended.
func (p *Process) Wait() (output, errors string, code int) {
	p.t.Helper()
	if err := p.Stdin.Close(); err != nil {
		p.t.Fatal(err)
	}
	rest, err := io.ReadAll(p.stdout)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // the code says it
	return string(rest), p.stderr.String(), p.cmd.ProcessState.ExitCode()
}

// End is Wait for an example that must have nothing more to say, and succeed.
func (p *Process) End() {
	p.t.Helper()
	output, errors, code := p.Wait()
	if output != "" || errors != "" || code != 0 {
		p.t.Fatalf("it ended with exit code %d, the output %q and the errors\n%s", code, output, errors)
	}
}

//go:build unix

package process_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/process"
	"github.com/rondo-go/rondo/sim"
)

// TestC192Status: Wait returns the exit code or the signal of the child. It
// returns the same error each time, to tasks and goroutines.
//
// asyncio returns a negative code for a signal; ExitCode is -1, as in package os.
func TestC192Status(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, test := range []struct {
			part   []string
			code   int
			signal syscall.Signal
			says   string
		}{
			{[]string{"exit", "0"}, 0, 0, ""},
			{[]string{"exit", "7"}, 7, 0, "exit status 7"},
			{[]string{"die", "15"}, -1, syscall.SIGTERM, "signal: terminated"},
			{[]string{"die", "9"}, -1, syscall.SIGKILL, "signal: killed"},
		} {
			c := child(ctx, test.part...)
			if err := c.Start(); err != nil {
				return err
			}
			var errs []error
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for range 3 {
					g.Go(func(context.Context) error { errs = append(errs, c.Wait()); return nil })
				}
				_, err := rondo.Offload(g, func(context.Context) (int, error) { return 0, c.Wait() })
				errs = append(errs, err)
				return nil
			})
			if err != nil {
				return err
			}
			errs = append(errs, c.Wait())
			for _, err := range errs {
				if err != errs[0] {
					t.Errorf("%v: Wait returned %v and %v", test.part, errs[0], err)
				}
			}
			status := c.ProcessState.Sys().(syscall.WaitStatus)
			if c.ProcessState.ExitCode() != test.code || status.Signaled() != (test.signal != 0) || status.Signaled() && status.Signal() != test.signal {
				t.Errorf("%v: %v", test.part, c.ProcessState)
			}
			exit, failed := errs[0].(*exec.ExitError)
			if failed != (test.says != "") || failed && exit.Error() != test.says {
				t.Errorf("%v: Wait returned %v", test.part, errs[0])
			}
			// A signal to a child that has ended says so.
			if err := c.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("%v: a signal afterwards: %v", test.part, err)
			}
		}
		return nil
	})
}

// TestOutput: what a child says, apart and together.
func TestOutput(t *testing.T) {
	run(t, func(ctx context.Context) error {
		out, err := child(ctx, "say", "a word", "an aside").Output()
		if err != nil || string(out) != "a word" {
			t.Errorf("Output: %q, %v", out, err)
		}
		out, err = child(ctx, "say", "a word", "an aside").CombinedOutput()
		if err != nil || string(out) != "a wordan aside" {
			t.Errorf("CombinedOutput: %q, %v", out, err)
		}
		c := child(ctx, "hang")
		long := strings.Repeat("x", 100_000)
		c.Stdin = strings.NewReader(long)
		c.Args = []string{c.Path, "echo"}
		if out, err = c.Output(); err != nil || string(out) != long {
			t.Errorf("echo: %d bytes, %v", len(out), err)
		}
		_, err = process.Command(ctx, "/bin/sh", "-c", "echo begin >&2; head -c 200000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 3").Output()
		exit, ok := err.(*exec.ExitError)
		if !ok {
			t.Errorf("Output of what fails: %v", err)
			return nil
		}
		said := string(exit.Stderr)
		if !strings.HasPrefix(said, "begin\nxxx") || !strings.HasSuffix(said, "xxxend\n") || !strings.Contains(said, "bytes left out") || len(said) > 70_000 {
			t.Errorf("the error has %d bytes of what it said", len(said))
		}
		return nil
	})
}

// TestLimitOfScope: tasks of a scope with a limit run children, as many at once as the limit says.
func TestLimitOfScope(t *testing.T) {
	running, most, ended := 0, 0, 0
	r := rondo.Runner{EndDeadlock: 1}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(2)
			for range 5 {
				g.Go(func(ctx context.Context) error {
					running++
					most = max(most, running)
					err := child(ctx, "exit", "0").Run()
					running--
					ended++
					return err
				})
			}
			return nil
		})
	})
	if err != nil || most != 2 || ended != 5 {
		t.Errorf("%v; %d children ended, of which %d ran at once", err, ended, most)
	}
}

// TestStderrOfOther: an error of Output that is the cause of a cancellation keeps what its own
// child said, whether the child that is cancelled has not started or ends because of it.
func TestStderrOfOther(t *testing.T) {
	run(t, func(ctx context.Context) error {
		_, err := process.Command(ctx, "/bin/sh", "-c", "echo first >&2; exit 3").Output()
		first, ok := err.(*exec.ExitError)
		if !ok {
			return err
		}
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(first)
			_, err := child(g, "say", "", "nothing").Output()
			return err
		})
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			c := process.Command(g, "/bin/sh", "-c", "read line; echo second >&2; exit 4")
			in, err := c.StdinPipe()
			if err != nil {
				return err
			}
			c.Cancel, c.WaitDelay = in.Close, -1
			rondo.Go(ctx, func(ctx context.Context) error {
				for c.Process == nil {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				g.Cancel(first)
				return nil
			})
			_, err = c.Output()
			var second *exec.ExitError
			if !errors.As(err, &second) || second.ExitCode() != 4 || string(second.Stderr) != "second\n" {
				t.Errorf("the child that was cancelled: %v, which said %q", err, second.Stderr)
			}
			return err
		})
		if string(first.Stderr) != "first\n" {
			t.Errorf("the child whose error is the cause said %q", first.Stderr)
		}
		return nil
	})
}

// TestFields: folder, environment, arguments, and a file of the caller's.
func TestFields(t *testing.T) {
	run(t, func(ctx context.Context) error {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			return err
		}
		c := child(ctx, "where", "one", "two")
		c.Dir = dir
		c.Env = append(c.Env, "RONDO_WORD=word")
		out, err := c.Output()
		if want := dir + " word one,two\n"; err != nil || string(out) != want {
			t.Errorf("%q, %v; want %q", out, err, want)
		}
		f, err := os.Create(filepath.Join(dir, "file"))
		if err != nil {
			return err
		}
		defer f.Close()
		c = child(ctx, "fourth")
		c.Stdin, c.ExtraFiles = strings.NewReader("to the file"), []*os.File{f}
		if err := c.Run(); err != nil {
			return err
		}
		text, err := os.ReadFile(f.Name())
		if string(text) != "to the file" {
			t.Errorf("the file has %q", text)
		}
		return err
	})
}

// TestReadAfterWait: what a child wrote can be read when Wait has returned, and
// then nothing is open.
func TestReadAfterWait(t *testing.T) {
	run(t, func(ctx context.Context) error {
		before := leak.Descriptors()
		c := child(ctx, "say", strings.Repeat("x", 30_000), "an aside")
		out, err := c.StdoutPipe()
		if err != nil {
			return err
		}
		aside, err := c.StderrPipe()
		if err != nil {
			return err
		}
		if err := errors.Join(c.Start(), c.Wait()); err != nil {
			return err
		}
		if n := leak.Descriptors(); n > before {
			t.Errorf("%d descriptors are open, %d were", n, before)
		}
		a, err := io.ReadAll(out)
		b, err2 := io.ReadAll(aside)
		if len(a) != 30_000 || string(b) != "an aside" {
			t.Errorf("%d bytes and %q", len(a), b)
		}
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		for _, err := range []error{out.Close(), func() error { _, err := out.Read(make([]byte, 1)); return err }()} {
			if !errors.Is(err, os.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
		return errors.Join(err, err2)
	})
}

// TestC193ClosedStdin: a child that does not read its input is no error. A write
// to the input of a child that has closed it fails with EPIPE.
func TestC193ClosedStdin(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for range 3 {
			c := child(ctx, "exit", "0")
			c.Stdin = endless{}
			if err := c.Run(); err != nil {
				t.Errorf("a child that reads nothing: %v", err)
			}
		}
		c := child(ctx, "close stdin")
		in, err := c.StdinPipe()
		if err != nil {
			return err
		}
		if _, _, err := started(c); err != nil {
			return err
		}
		if _, err := in.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("a write to what does not read: %v", err)
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		if _, err := in.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("a write to what has ended: %v", err)
		}
		if err := in.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if _, err := in.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a write after Close: %v", err)
		}
		return nil
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestSilentStdin: a Reader that has nothing to give does not hold up the end.
func TestSilentStdin(t *testing.T) {
	run(t, func(ctx context.Context) error {
		silent := child(ctx, "hang")
		out, _, err := started(silent)
		if err != nil {
			return err
		}
		defer silent.Process.Kill()
		c := child(ctx, "exit", "0")
		c.Stdin = out
		if err := c.Run(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		return nil
	})
}

type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestCopyFails: an error of a Reader or Writer is what Wait returns, if the
// child had none.
func TestCopyFails(t *testing.T) {
	run(t, func(ctx context.Context) error {
		why := errors.New("why")
		c := child(ctx, "say", "a word", "")
		c.Stdout = writer(func([]byte) (int, error) { return 0, why })
		if err := c.Run(); err != why {
			t.Errorf("of the output: %v", err)
		}
		c = child(ctx, "echo")
		c.Stdin = io.MultiReader(strings.NewReader("begin"), reader(func([]byte) (int, error) { return 0, why }))
		if out, err := c.Output(); err != why || string(out) != "begin" {
			t.Errorf("of the input: %q, %v", out, err)
		}
		var both bytes.Buffer
		c = child(ctx, "say", "a word", "an aside")
		c.Stdout, c.Stderr = &both, &both
		if err := c.Run(); err != nil || both.String() != "a wordan aside" {
			t.Errorf("of one for both: %q, %v", both.String(), err)
		}
		return nil
	})
}

// TestStartFails: what is not there, and what is not allowed, leaves nothing
// open.
func TestStartFails(t *testing.T) {
	run(t, func(ctx context.Context) error {
		before := leak.Descriptors()
		c := process.Command(ctx, "no-such-program-here")
		if _, err := c.StdoutPipe(); err != nil {
			return err
		}
		if _, err := c.StdinPipe(); err != nil {
			return err
		}
		if err := c.Run(); !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("not in PATH: %v", err)
		}
		c = process.Command(ctx, "/no/such/program")
		c.Stdin = strings.NewReader("x")
		if out, err := c.Output(); !errors.Is(err, fs.ErrNotExist) || len(out) > 0 {
			t.Errorf("not there: %v", err)
		}
		c = child(ctx, "exit", "0")
		if err := c.Wait(); err == nil || !strings.HasSuffix(err.Error(), "it was not started") {
			t.Errorf("Wait before Start: %v", err)
		}
		if err := c.Run(); err != nil {
			return err
		}
		if err := c.Start(); err == nil || !strings.HasSuffix(err.Error(), "it was started before") {
			t.Errorf("the second Start: %v", err)
		}
		for _, pipe := range []func() (io.ReadCloser, error){c.StdoutPipe, c.StderrPipe} {
			if _, err := pipe(); err == nil {
				t.Error("a pipe of a child that has ended")
			}
		}
		if n := leak.Descriptors(); n > before {
			t.Errorf("%d descriptors are open, %d were", n, before)
		}
		return nil
	})
}

// TestElsewhere: a child belongs to a loop, and only its tasks start it.
func TestElsewhere(t *testing.T) {
	if err := process.Command(context.Background(), "true").Run(); !errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("without a loop: %v", err)
	}
	run(t, func(ctx context.Context) error {
		_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, child(ctx, "exit", "0").Run() })
		if !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("on another goroutine: %v", err)
		}
		return nil
	})
	before := leak.Descriptors()
	sim.Test(t, func(ctx context.Context) {
		c := process.Command(ctx, "true")
		if _, err := c.StdoutPipe(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a pipe in a simulation: %v", err)
		}
		if err := c.Run(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("in a simulation: %v", err)
		}
		if n := leak.Descriptors(); n > before {
			t.Errorf("%d descriptors are open, %d were", n, before)
		}
	})
}

// failing is a reader that fails with err.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// hostileError is an error whose methods panic.
type hostileError struct{}

func (hostileError) Error() string { panic("Error") }
func (hostileError) Is(error) bool { panic("Is") }

// TestErrorOfStdin: that a child reads no more is no error, and that the reader of Stdin fails is
// one, also if it fails in the same way.
func TestErrorOfStdin(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for _, want := range []error{syscall.EPIPE, hostileError{}} {
			c := process.Command(ctx, "cat")
			c.Stdin = failing{want}
			if err := c.Run(); err != want {
				t.Errorf("of %T: Run returned a %T", want, err)
			}
		}
		c := process.Command(ctx, "true")
		c.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
		return c.Run()
	})
}

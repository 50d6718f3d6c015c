//go:build unix

package process_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/process"
)

// signalOf returns the signal that ended a child, or 0.
func signalOf(c *process.Cmd) syscall.Signal {
	if status := c.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return status.Signal()
	}
	return 0
}

// TestC232Cancelled: a cancelled child gets SIGTERM, and SIGKILL after WaitDelay.
// Wait returns when it has ended, and its output can be read to the end.
func TestC232Cancelled(t *testing.T) {
	why := errors.New("why")
	for _, test := range []struct {
		part   string
		delay  time.Duration
		ended  syscall.Signal
		said   string
		status bool // the child failed
	}{
		{"hang", time.Hour, syscall.SIGTERM, "", true},
		{"hang", -1, syscall.SIGTERM, "", true},
		{"polite", time.Hour, 0, "bye\n", false},
		{"deaf", time.Millisecond, syscall.SIGKILL, "", true},
	} {
		run(t, func(ctx context.Context) error {
			var c *process.Cmd
			var waited, read error
			var rest []byte
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				c = child(g, test.part)
				c.WaitDelay = test.delay
				out, _, err := started(c)
				if err != nil {
					return err
				}
				g.Go(func(context.Context) error { waited = c.Wait(); return nil })
				if err := rondo.Yield(g); err != nil {
					return err
				}
				g.Cancel(why)
				return rondo.Shield(g, func(context.Context) error {
					rest, read = io.ReadAll(out)
					return nil
				})
			})
			if err != why {
				t.Errorf("%s: the group returned %v", test.part, err)
			}
			if c.ProcessState == nil || signalOf(c) != test.ended {
				t.Errorf("%s: ended with %v", test.part, c.ProcessState)
			}
			var exit *exec.ExitError
			if !errors.Is(waited, why) || errors.As(waited, &exit) != test.status {
				t.Errorf("%s: Wait returned %v", test.part, waited)
			}
			if read != nil || string(rest) != test.said {
				t.Errorf("%s: the rest is %q, %v", test.part, rest, read)
			}
			return nil
		})
	}
}

// TestCancelledExit: how a cancelled child has ended comes out of the scope if that says
// more than that it was cancelled.
func TestCancelledExit(t *testing.T) {
	why := errors.New("why")
	for _, end := range []struct {
		name   string
		cancel func(g *rondo.Scope)
		is     error // what the scope returns at least
		signal bool  // it returns also that a signal ended the child
	}{
		{"Cancel with a cause", func(g *rondo.Scope) { g.Cancel(why) }, why, false},
		{"Cancel(nil)", func(g *rondo.Scope) { g.Cancel(nil) }, nil, false},
		{"a deadline", func(g *rondo.Scope) { g.SetDeadline(rondo.Now(g)) }, context.DeadlineExceeded, true},
	} {
		for _, test := range []struct {
			part []string
			text string // of the *exec.ExitError; empty: none
			kept bool   // with any cause
		}{
			{[]string{"hang"}, "signal: terminated", false},
			{[]string{"polite"}, "", false},
			{[]string{"polite", "7"}, "exit status 7", true},
			{[]string{"deaf"}, "signal: killed", true},
		} {
			run(t, func(ctx context.Context) error {
				err := rondo.Group(ctx, func(g *rondo.Scope) error {
					c := child(g, test.part...)
					c.WaitDelay = -1
					if test.part[0] == "deaf" {
						c.WaitDelay = time.Millisecond
					}
					if _, _, err := started(c); err != nil {
						return err
					}
					end.cancel(g)
					return c.Wait()
				})
				exit, kept := errors.AsType[*exec.ExitError](err)
				if want := test.kept || end.signal && test.text != ""; kept != want || kept && exit.Error() != test.text {
					t.Errorf("%s, %v: the scope returned %v, want the exit in it: %t", end.name, test.part, err, want)
				}
				if end.is != nil && !errors.Is(err, end.is) || !kept && err != nil && strings.Contains(err.Error(), "ended with") {
					t.Errorf("%s, %v: the scope returned %v", end.name, test.part, err)
				}
				if errors.Is(err, context.DeadlineExceeded) != rondo.TimedOut(ctx, err) {
					t.Errorf("%s, %v: TimedOut of %v is %t", end.name, test.part, err, rondo.TimedOut(ctx, err))
				}
				return nil
			})
		}
	}
}

// TestTimeoutOfWait: a Timeout around Wait ends the waiting, not the child.
func TestTimeoutOfWait(t *testing.T) {
	run(t, func(ctx context.Context) error {
		c := child(ctx, "hang")
		if _, _, err := started(c); err != nil {
			return err
		}
		err := rondo.Timeout(ctx, time.Millisecond, func(context.Context) error { return c.Wait() })
		if !errors.Is(err, context.DeadlineExceeded) || c.ProcessState != nil {
			t.Errorf("%v, and the child ended with %v", err, c.ProcessState)
		}
		if err := c.Process.Kill(); err != nil {
			return err
		}
		if err := c.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("Wait returned %v", err)
		}
		return nil
	})
}

// TestScopeOwnsChild: a scope does not end before its children do, whether
// anybody waits for them or not.
func TestScopeOwnsChild(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var c, second *process.Cmd
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			c, second = child(g, "say", "a word", ""), child(g, "exit", "3")
			if _, err := c.StdoutPipe(); err != nil {
				return err
			}
			c.WaitDelay = time.Millisecond // nobody reads the pipe
			return errors.Join(c.Start(), second.Start())
		})
		if err != nil || c.ProcessState == nil || second.ProcessState == nil {
			t.Errorf("%v, and the children ended with %v and %v", err, c.ProcessState, second.ProcessState)
		}
		noChildren(t)
		// One that is left is told to end when the loop does.
		_, _, err = started(child(ctx, "hang"))
		return err
	})
}

// TestCancelledBefore: nothing is started in a cancelled scope.
func TestCancelledBefore(t *testing.T) {
	run(t, func(ctx context.Context) error {
		why := errors.New("why")
		c := child(ctx, "exit", "0")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(why)
			own := child(g, "exit", "0")
			if err := own.Start(); err != why || own.Process != nil {
				t.Errorf("of its own: %v", err)
			}
			return c.Start()
		})
		if err != why || c.Process != nil {
			t.Errorf("Start returned %v", err)
		}
		return nil
	})
}

// TestOwnCancel: Cancel takes the place of the signal, and what it returns
// counts.
func TestOwnCancel(t *testing.T) {
	run(t, func(ctx context.Context) error {
		why, broken := errors.New("why"), errors.New("broken")
		for _, test := range []struct {
			name   string
			cancel func(c *process.Cmd, in io.Closer) error
			is     []error
		}{
			{"closes the input", func(_ *process.Cmd, in io.Closer) error { return in.Close() }, []error{why}},
			{"says it has ended", func(_ *process.Cmd, in io.Closer) error { in.Close(); return os.ErrProcessDone }, nil},
			{"fails", func(_ *process.Cmd, in io.Closer) error { in.Close(); return broken }, []error{why, broken}},
			{"fails with an error whose methods panic", func(_ *process.Cmd, in io.Closer) error { in.Close(); return hostileError{} }, []error{why}},
		} {
			var waited error
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				c := child(g, "echo")
				c.WaitDelay = -1
				in, err := c.StdinPipe()
				if err != nil {
					return err
				}
				c.Cancel = func() error { return test.cancel(c, in) }
				if err := c.Start(); err != nil {
					return err
				}
				g.Cancel(why)
				waited = c.Wait()
				return nil
			})
			if len(test.is) == 0 && waited != nil {
				t.Errorf("%s: %v", test.name, waited)
			}
			for _, is := range test.is {
				if !errors.Is(waited, is) {
					t.Errorf("%s: %v", test.name, waited)
				}
			}
		}
		// With nil nothing happens before WaitDelay.
		c := child(ctx, "hang")
		c.Cancel, c.WaitDelay = nil, time.Millisecond
		err := rondo.Timeout(ctx, time.Millisecond, func(context.Context) error { return c.Run() })
		if !errors.Is(err, context.DeadlineExceeded) || c.Process != nil && signalOf(c) != syscall.SIGKILL {
			t.Errorf("with nil: %v, %v", err, c.ProcessState)
		}
		return nil
	})
}

// TestCancelWaits: a Cancel that waits ends with WaitDelay, and keeps no child from being killed:
// whether the child does not read what it writes, or it waits for the child's end, or for another.
func TestCancelWaits(t *testing.T) {
	why := errors.New("why")
	for name, cancel := range map[string]func(ctx context.Context, in io.Writer, out io.Reader) error{
		"writes": func(_ context.Context, in io.Writer, _ io.Reader) error {
			_, err := in.Write(make([]byte, 1<<20))
			return err
		},
		"reads to the end": func(ctx context.Context, _ io.Writer, out io.Reader) error {
			return rondo.Shield(ctx, func(context.Context) error {
				_, err := io.Copy(io.Discard, out)
				return err
			})
		},
		"reads another": func(ctx context.Context, _ io.Writer, _ io.Reader) error {
			out, _, err := started(child(ctx, "hang"))
			if err == nil {
				_, err = out.Read(make([]byte, 1))
			}
			return err
		},
	} {
		run(t, func(ctx context.Context) error {
			var c *process.Cmd
			var waited error
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				c = child(g, "hang")
				c.WaitDelay = 50 * time.Millisecond
				in, err := c.StdinPipe()
				if err != nil {
					return err
				}
				out, _, err := started(c)
				if err != nil {
					return err
				}
				c.Cancel = func() error { return cancel(ctx, in, out) }
				g.Cancel(why)
				waited = c.Wait()
				return nil
			})
			if c.ProcessState == nil || signalOf(c) != syscall.SIGKILL {
				t.Errorf("%s: ended with %v", name, c.ProcessState)
			}
			var exit *exec.ExitError
			if !errors.Is(err, why) || !errors.Is(waited, why) || !errors.As(waited, &exit) || errors.Is(waited, context.DeadlineExceeded) {
				t.Errorf("%s: the group returned %v, and Wait %v", name, err, waited)
			}
			return nil
		})
	}
}

// TestLateOutput: what a child's own child says later is read as well, as long
// as nobody waits for the end, and WaitDelay is not over; a cancellation after the
// child's end does not cut off what is copied.
func TestLateOutput(t *testing.T) {
	const script = "(sleep 0.1; echo late) & echo early"
	run(t, func(ctx context.Context) error {
		c := process.Command(ctx, "/bin/sh", "-c", script)
		c.WaitDelay = -1
		out, err := c.StdoutPipe()
		if err != nil {
			return err
		}
		if err := c.Start(); err != nil {
			return err
		}
		said, err := io.ReadAll(out)
		if string(said) != "early\nlate\n" {
			t.Errorf("read %q", said)
		}
		return errors.Join(err, c.Wait())
	})
	run(t, func(ctx context.Context) error {
		why := errors.New("why")
		var said strings.Builder
		var c *process.Cmd
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			c = process.Command(g, "/bin/sh", "-c", script)
			c.Stdout, c.WaitDelay = &said, -1
			if err := c.Start(); err != nil {
				return err
			}
			for c.ProcessState == nil {
				if err := rondo.Sleep(g, time.Millisecond); err != nil {
					return err
				}
			}
			g.Cancel(why)
			return nil
		})
		if waited := c.Wait(); err != why || waited != nil || said.String() != "early\nlate\n" {
			t.Errorf("%v, %v; copied %q", err, waited, said.String())
		}
		return nil
	})
}

// TestGrandchild: what a child has left behind and holds its pipes keeps nobody
// waiting. What the child itself said is not lost.
func TestGrandchild(t *testing.T) {
	run(t, func(ctx context.Context) error {
		end := func(said string) {
			fields := strings.Fields(said)
			if len(fields) < 2 || fields[0] != "left" {
				t.Errorf("the child said %q", said)
				return
			}
			pid, err := strconv.Atoi(fields[1])
			if err := errors.Join(err, syscall.Kill(pid, syscall.SIGKILL)); err != nil {
				t.Error(err)
			}
		}
		c := child(ctx, "leave")
		c.WaitDelay = time.Millisecond
		out, err := c.Output()
		if err != exec.ErrWaitDelay {
			t.Errorf("Output: %v", err)
		}
		end(string(out))

		c = child(ctx, "leave")
		pipe, err := c.StdoutPipe()
		if err != nil {
			return err
		}
		if err := errors.Join(c.Start(), c.Wait()); err != nil {
			t.Errorf("Wait: %v", err)
		}
		said, err := io.ReadAll(pipe)
		end(string(said))
		return err
	})
}

// TestDrainedAtWaitDelay: when WaitDelay is over, what is in a pipe that somebody
// else holds is read, and not thrown away with the pipe.
func TestDrainedAtWaitDelay(t *testing.T) {
	run(t, func(ctx context.Context) error {
		// What holds the outputs stays until w is closed.
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		defer w.Close()
		var out io.Reader
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			c := process.Command(g, "/bin/sh", "-c", "cat <&3 & echo early")
			c.ExtraFiles, c.WaitDelay = []*os.File{r}, time.Millisecond
			var err error
			if out, err = c.StdoutPipe(); err != nil {
				return err
			}
			return c.Start()
		})
		if err != nil {
			return err
		}
		if said, err := io.ReadAll(out); string(said) != "early\n" || err != nil {
			t.Errorf("StdoutPipe: %q, %v", said, err)
		}

		c := process.Command(ctx, "/bin/sh", "-c", "head -c 60000 /dev/zero; cat <&3 &")
		c.ExtraFiles, c.WaitDelay = []*os.File{r}, time.Millisecond
		n := 0
		c.Stdout = writer(func(p []byte) (int, error) {
			if n += len(p); n == len(p) {
				// WaitDelay is over before this is.
				for c.ProcessState == nil {
					if err := rondo.Yield(ctx); err != nil {
						return 0, err
					}
				}
				if err := rondo.Sleep(ctx, 20*time.Millisecond); err != nil {
					return 0, err
				}
			}
			return len(p), nil
		})
		if err := c.Run(); err != exec.ErrWaitDelay || n != 60000 {
			t.Errorf("Stdout: %d bytes, %v", n, err)
		}
		return nil
	})
}

// TestCopyPanics: under Recover a panic in a Reader or Writer is what Wait returns,
// and the pipes are closed, so that the child ends.
func TestCopyPanics(t *testing.T) {
	watchdog := time.AfterFunc(50*time.Second, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	boom := func([]byte) (int, error) { panic("boom") }
	for name, set := range map[string]func(c *process.Cmd){
		"Stdin":  func(c *process.Cmd) { c.Stdin = reader(boom) },
		"Stdout": func(c *process.Cmd) { c.Stdin, c.Stdout = strings.NewReader("words"), writer(boom) },
	} {
		r := rondo.Runner{Recover: true, OnError: func(task rondo.TaskInfo, err error) { t.Errorf("%s: OnError: %s: %v", name, task.Name, err) }}
		err := r.Run(context.Background(), func(ctx context.Context) error {
			c := child(ctx, "echo")
			c.WaitDelay = -1
			set(c)
			err := c.Run()
			var panicked *rondo.PanicError
			if !errors.As(err, &panicked) || panicked.Value != "boom" {
				t.Errorf("%s: Run returned %v", name, err)
			}
			if again := c.Wait(); again != err {
				t.Errorf("%s: Wait returned %v", name, again)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		noChildren(t)
	}
}

// TestPanicOfOneStream: under Recover a panic in Stdout's Writer ends neither the copying of
// Stderr, nor the WaitDelay of a child that is cancelled later.
func TestPanicOfOneStream(t *testing.T) {
	watchdog := time.AfterFunc(50*time.Second, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	for _, cancelled := range []bool{false, true} {
		r := rondo.Runner{Recover: true}
		err := r.Run(context.Background(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				var panicked rondo.Event
				var said strings.Builder
				c := child(g, "either")
				c.WaitDelay = -1
				c.Stdout = writer(func([]byte) (int, error) { panicked.Set(); panic("boom") })
				c.Stderr = &said
				in, err := c.StdinPipe()
				if err := errors.Join(err, c.Start(), panicked.Wait(g), rondo.Yield(g)); err != nil {
					return err
				}
				code := 0
				if cancelled {
					code = 7
					g.Cancel(nil)
				} else if err := in.Close(); err != nil {
					return err
				}
				_ = rondo.Shield(ctx, func(context.Context) error { return c.Wait() })
				if got := c.ProcessState.ExitCode(); got != code || !cancelled && said.String() != "err\n" {
					t.Errorf("cancelled %v: the child ended with %v and said %q", cancelled, c.ProcessState, said.String())
				}
				return nil
			})
		})
		if err != nil {
			t.Errorf("cancelled %v: %v", cancelled, err)
		}
		noChildren(t)
	}
}

// TestStartTakesNoThread: a child is started while all that may be offloaded is,
// and waits for what cannot end before.
func TestStartTakesNoThread(t *testing.T) {
	watchdog := time.AfterFunc(50*time.Second, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	r := rondo.Runner{Threads: 1}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		over := make(chan struct{})
		away := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := rondo.Offload(ctx, func(context.Context) (int, error) { <-over; return 0, nil })
			return err
		})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		err := child(ctx, "exit", "0").Run()
		close(over)
		return errors.Join(err, away.Wait(ctx))
	})
	if err != nil {
		t.Error(err)
	}
	noChildren(t)
}

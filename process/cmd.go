package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// grace is the WaitDelay of a Cmd in which it is not set; trio's is the same.
const grace = 5 * time.Second

// A Cmd is a program that is to be run, or is running, or has ended. It is made
// by Command and used once. The fields up to SysProcAttr, and what is said of
// them in os/exec, are that package's.
type Cmd struct {
	// Path is the program's path, and Args its arguments, Path's own name
	// first. Env is its environment; nil means that of this process. Dir is the
	// folder in which it runs; empty means that of this process.
	Path string
	Args []string
	Env  []string
	Dir  string

	// Stdin, Stdout and Stderr are the child's. nil stands for the null device,
	// an *os.File is given to the child as it is, and anything else is copied,
	// by tasks of the child's scope. So a Reader or Writer that blocks stops the
	// loop; one that suspends, a connection of package socket, does not. When
	// the child has ended nothing more is read from Stdin. Stdout and Stderr may
	// be the same Writer, which is then called by one task at a time.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// ExtraFiles are open in the child as well, from descriptor 3 on.
	ExtraFiles []*os.File

	// SysProcAttr is for what one system has and others have not. The child is
	// started on another goroutine, so what refers to a thread (Ptrace,
	// Pdeathsig) does not refer to the loop's.
	SysProcAttr *syscall.SysProcAttr

	// Process is the child once Start has returned nil. Its Signal and Kill may
	// be called by any goroutine; its Wait and Release must not be called.
	Process *os.Process

	// ProcessState says how the child ended; nil until it was reaped.
	ProcessState *os.ProcessState

	// Err is what Command could not find the program for, as an *exec.Error;
	// Start returns it.
	Err error

	// Cancel is called when ctx is cancelled, to make the child end. It may
	// suspend. Command sets it to send SIGTERM, and where there is no such
	// thing to kill. With nil nothing is done before WaitDelay. If it returns an
	// error that is os.ErrProcessDone the child is held to have ended by itself.
	Cancel func() error

	// WaitDelay is how long the child may take to end from the cancellation of
	// ctx until it is killed, and how long its pipes may stay open from then, or
	// from its end. 0 means 5 s; if it is negative there is no limit.
	WaitDelay time.Duration

	ctx   context.Context
	child child
}

// Command makes a Cmd for the program with the arguments given, which belongs to
// the scope of ctx. A name without a slash is looked for in PATH; if that fails
// Err is set. It never suspends.
func Command(ctx context.Context, name string, args ...string) *Cmd {
	std := exec.Command(name, args...)
	c := &Cmd{Path: std.Path, Args: std.Args, Err: std.Err, ctx: ctx}
	c.Cancel = func() error { return terminate(c.Process) }
	return c
}

// command gives the standard library's Cmd of c.
func (c *Cmd) command() *exec.Cmd {
	return &exec.Cmd{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, ExtraFiles: c.ExtraFiles, SysProcAttr: c.SysProcAttr, Err: c.Err,
	}
}

// String gives the path and the arguments, for people to read.
func (c *Cmd) String() string { return c.command().String() }

// Environ gives a copy of the environment in which the child would run.
func (c *Cmd) Environ() []string { return c.command().Environ() }

func (c *Cmd) name() string { return filepath.Base(c.Path) }

// delay gives WaitDelay, and whether there is a limit at all.
func (c *Cmd) delay() (time.Duration, bool) {
	if c.WaitDelay == 0 {
		return grace, true
	}
	return c.WaitDelay, c.WaitDelay > 0
}

// Start starts the child and returns when it runs. From here on the scope of its
// ctx does not end before the child does. If that or the scope that the task is
// in is cancelled, Start returns the cause and starts nothing; a cancellation
// that comes while the child is being started reaches the child.
//
// A program that is not there is an *exec.Error, with exec.ErrNotFound or
// exec.ErrDot in it, or an *fs.PathError. Start panics in a callback; on a
// goroutine that is no task of the loop it fails with rondo.ErrNoLoop.
// It suspends the task.
func (c *Cmd) Start() error {
	loop := kernel.Of(c.ctx)
	if loop == nil {
		return c.failed("Start", rondo.ErrNoLoop)
	}
	t := fd.TaskOf(loop, "process.Cmd.Start")
	if t == nil {
		return c.failed("Start", rondo.ErrNoLoop)
	}
	if c.child.task != nil {
		return c.failed("Start", errors.New("it was started before"))
	}
	if err := fd.Supported(loop); err != nil {
		return c.failed("Start", err)
	}
	for _, ctx := range []context.Context{c.ctx, t.Scope()} {
		if ctx.Err() != nil {
			c.child.discard()
			return context.Cause(ctx)
		}
	}
	return c.child.start(c, loop, t)
}

// failed says that a call could not be done.
func (c *Cmd) failed(call string, err error) error {
	return fmt.Errorf("rondo: process.Cmd.%s of %s: %w", call, c.name(), err)
}

// Wait waits until the child has ended and what is copied from and to it has
// been. It returns nil if the child ended with status 0, an *exec.ExitError if
// it ended otherwise, the first error of the copying if that is all, and
// exec.ErrWaitDelay if the pipes had to be closed. If ctx was cancelled and the
// child ended for that, the error is the cause, with the *exec.ExitError in it.
//
// A cancellation of the scope that the calling task is in ends the waiting, and
// Wait returns the cause; the child goes on and can be waited for again. If it
// is ctx that is cancelled, Wait stays until the child was reaped.
//
// When the child has ended and somebody has called Wait, or WaitDelay is over,
// its pipes are closed; what was written to them can still be read.
// It suspends the task.
func (c *Cmd) Wait() error { return c.wait(false) }

// wait is Wait; own tells that nobody else will wait for the child, so that a
// cancellation of the wait is the child's end.
func (c *Cmd) wait(own bool) error {
	ch := &c.child
	if ch.task == nil || c.Process == nil {
		return c.failed("Wait", errors.New("it was not started"))
	}
	ch.ask()
	t := fd.TaskOf(ch.loop, "process.Cmd.Wait")
	if t == nil {
		if err := ch.task.Wait(context.Background()); err != nil {
			return err
		}
		return ch.err
	}
	scope := t.Scope()
	err := ch.task.Wait(scope)
	if err != nil && !ch.task.Done() {
		if !own && c.ctx.Err() == nil {
			return err
		}
		ch.task.Cancel(err)
		err = rondo.Shield(scope, ch.task.Wait)
	}
	if err != nil {
		return err
	}
	return ch.err
}

// Run starts the child and waits for its end; its errors are those of Start and
// Wait. Since nobody else waits for the child, a cancellation of the scope that
// the task is in ends it, as one of ctx does.
// It suspends the task.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.wait(true)
}

// Output runs the child and returns what it wrote to its standard output. If
// Stderr is not set, what it wrote there is in the *exec.ExitError, the middle
// left out if it is long.
// It suspends the task.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, c.failed("Output", errors.New("the field Stdout is set already"))
	}
	var out buffer
	c.Stdout = &out
	var said *excerpt
	if c.Stderr == nil {
		said = new(excerpt)
		c.Stderr = said
	}
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && said != nil {
		exit.Stderr = said.Bytes()
	}
	return out, err
}

// CombinedOutput runs the child and returns what it wrote to its standard output
// and its standard error.
// It suspends the task.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, c.failed("CombinedOutput", errors.New("the field Stdout or Stderr is set already"))
	}
	var out buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out, err
}

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

// defaultWaitDelay is the WaitDelay of a Cmd that does not set it, as in trio.
const defaultWaitDelay = 5 * time.Second

// A Cmd is a program that will run, runs, or has ended. Command makes it, and it is
// used once. The fields up to SysProcAttr are those of os/exec.Cmd.
type Cmd struct {
	// Path is the program's path, and Args are its arguments, starting with its
	// name. Env is its environment; nil means that of this process. Dir is the
	// folder in which it runs; empty means that of this process.
	Path string
	Args []string
	Env  []string
	Dir  string

	// Stdin, Stdout and Stderr are the child's. nil is the null device, an *os.File
	// is passed to the child, and anything else is copied by tasks of the child's
	// scope. So a Reader or Writer that blocks stops the loop; one that suspends,
	// such as a connection of package socket, does not. When the child has ended,
	// nothing more is read from Stdin. Stdout and Stderr may be the same Writer,
	// which one task at a time then calls.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// ExtraFiles are open in the child too, from descriptor 3 on.
	ExtraFiles []*os.File

	// SysProcAttr has attributes that depend on the system. The child is started on
	// another goroutine, so attributes of a thread (Ptrace, Pdeathsig) do not refer
	// to the loop's thread.
	SysProcAttr *syscall.SysProcAttr

	// Process is the child once Start has returned nil. Its Signal and Kill may
	// be called by any goroutine; its Wait and Release must not be called.
	Process *os.Process

	// ProcessState says how the child ended. It is nil until the child was reaped.
	ProcessState *os.ProcessState

	// Err is an *exec.Error if Command did not find the program. Start returns it.
	Err error

	// Cancel is called when ctx is cancelled, to make the child end. It may suspend;
	// when WaitDelay is over its waits end with context.DeadlineExceeded. Command sets
	// it to send SIGTERM, or to kill where there is no SIGTERM. If it is nil, nothing
	// happens before WaitDelay. If it returns an error that is os.ErrProcessDone, the
	// child counts as having ended by itself.
	Cancel func() error

	// WaitDelay is how long the child may run after the cancellation of ctx before
	// it is killed, and how long its pipes may stay open after the cancellation or
	// after its end. 0 means 5 s. If it is negative there is no limit.
	WaitDelay time.Duration

	ctx   context.Context
	child child
}

// Command makes a Cmd for a program with its arguments. The child will belong to the
// scope of ctx. A name without a slash is looked up in PATH; if that fails, Err is
// set. Command never suspends.
func Command(ctx context.Context, name string, args ...string) *Cmd {
	std := exec.Command(name, args...)
	c := &Cmd{Path: std.Path, Args: std.Args, Err: std.Err, ctx: ctx}
	c.Cancel = func() error { return terminate(c.Process) }
	return c
}

// command returns the standard library's Cmd of c.
func (c *Cmd) command() *exec.Cmd {
	return &exec.Cmd{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, ExtraFiles: c.ExtraFiles, SysProcAttr: c.SysProcAttr, Err: c.Err,
	}
}

// String returns the path and the arguments, for people to read.
func (c *Cmd) String() string { return c.command().String() }

// Environ returns a copy of the environment in which the child would run.
func (c *Cmd) Environ() []string { return c.command().Environ() }

func (c *Cmd) name() string { return filepath.Base(c.Path) }

// delay returns WaitDelay, and whether there is a limit.
func (c *Cmd) delay() (time.Duration, bool) {
	if c.WaitDelay == 0 {
		return defaultWaitDelay, true
	}
	return c.WaitDelay, c.WaitDelay > 0
}

// Start starts the child and returns when it runs. From here on the scope of its ctx
// does not end before the child. If ctx or the scope that the task is in is
// cancelled, Start returns the cause and starts nothing. A cancellation that comes
// while the child is being started reaches the child.
//
// If there is no such program, the error is an *exec.Error that wraps exec.ErrNotFound
// or exec.ErrDot, or an *fs.PathError. Start panics in a callback. On a goroutine that
// is no task of the loop it fails with rondo.ErrNoLoop.
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

// failed returns the error of a call that failed.
func (c *Cmd) failed(call string, err error) error {
	return kernel.Wrap(fmt.Sprintf("process.Cmd.%s of %s", call, c.name()), err)
}

// Wait waits until the child has ended and the copying from and to it has ended. It
// returns nil if the child ended with status 0, an *exec.ExitError if it ended
// otherwise, exec.ErrWaitDelay if the pipes had to be closed, and else the first
// error of the copying. If ctx was cancelled and the child ended because of that, the
// error is the cause, with the *exec.ExitError in it. A scope returns that error if the
// child ended with a status of its own choice, had to be killed after WaitDelay, or was
// ended by a deadline. That a signal ended it says no more than the cause does. If
// Runner.Recover is set and Stdin, Stdout or Stderr has panicked, the error is a
// *rondo.PanicError.
//
// Wait has the signature of os/exec's, without a ctx. It suspends the task. Each
// cancellation of the scope that the calling task is in ends the wait, and Wait
// returns the cause; the child continues and can be waited for again. If ctx itself
// is cancelled, Wait returns when the child was reaped.
//
// When the child has ended, and Wait was called or WaitDelay is over, its pipes are
// closed. What was written to them can still be read.
func (c *Cmd) Wait() error { return c.wait(false) }

// wait is Wait. own says that nobody else waits for the child, so that a cancellation
// of the wait ends the child.
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
	if err != nil {
		if !ch.task.Done() {
			if !own && c.ctx.Err() == nil {
				return err
			}
			ch.task.Cancel(err)
		}
		// If the task has ended in the turn of a cancellation, err may say no more than that.
		err = rondo.Shield(scope, ch.task.Wait)
	}
	if err != nil {
		return err
	}
	return ch.err
}

// Run starts the child and waits for its end. Its errors are those of Start and Wait.
// Nobody else waits for the child, so a cancellation of the scope that the task is in
// ends it, as one of ctx does.
// It suspends the task.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.wait(true)
}

// Output runs the child and returns what it wrote to its standard output. If Stderr
// is not set, the *exec.ExitError has what the child wrote there, without the middle
// if it is long.
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
	// The error may also have the ExitError of another child in it, as the cause of a cancellation.
	if exit := c.child.status; exit != nil && said != nil {
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
